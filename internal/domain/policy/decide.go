package policy

import (
	"fmt"
	"time"
)

// Defaults are what applies where no rule says otherwise.
type Defaults struct {
	// Window is how long a person may take.
	Window time.Duration
	// ModelMayAnswer applies to calls that a tool's own annotations gate.
	ModelMayAnswer bool
}

// Call is what a verdict is about.
type Call struct {
	Address     string
	Account     string // of the caller
	Annotations Annotations
}

// Decide finds what applies to a call. The organisation's rules are those without an account; the first of them that matches counts,
// and so does the first of the account's own. Where both match, the stricter effect wins, and what it leaves open (window, who may
// answer) is the stricter of both. Where none matches, the tool's annotations decide: see [Annotations.Default].
// Rules are valid ones: see [Validate].
func Decide(rules []Rule, defaults Defaults, call Call) Verdict {
	organisation, common := first(rules, "", call.Address)
	account, own := Verdict{}, false
	if call.Account != "" {
		account, own = first(rules, call.Account, call.Address)
	}
	var verdict Verdict
	switch {
	case common && own:
		verdict = stricter(organisation, account)
	case common:
		verdict = organisation
	case own:
		verdict = account
	default:
		verdict.Effect, verdict.Reason = call.Annotations.Default()
		verdict.ModelMayAnswer = defaults.ModelMayAnswer
	}
	if verdict.Effect != Ask {
		verdict.Window, verdict.ModelMayAnswer = 0, false
	} else if verdict.Window == 0 {
		verdict.Window = defaults.Window
	}
	return verdict
}

func first(rules []Rule, account, address string) (Verdict, bool) {
	for i, rule := range rules {
		if rule.Account != account || !Match(rule.Pattern, address) {
			continue
		}
		return Verdict{
			Effect:         rule.Effect,
			Reason:         fmt.Sprintf("rule %d: %s", i+1, rule.Pattern),
			Pattern:        rule.Pattern,
			Window:         rule.Window,
			ModelMayAnswer: rule.ModelMayAnswer,
		}, true
	}
	return Verdict{}, false
}

// stricter gives the account's verdict only where it says more than the organisation's.
func stricter(organisation, account Verdict) Verdict {
	if organisation.Effect != account.Effect {
		if account.Effect.strictness() > organisation.Effect.strictness() {
			return account
		}
		return organisation
	}
	verdict := organisation
	verdict.ModelMayAnswer = organisation.ModelMayAnswer && account.ModelMayAnswer
	if account.Window != 0 && (organisation.Window == 0 || account.Window < organisation.Window) {
		verdict.Window = account.Window
	}
	return verdict
}
