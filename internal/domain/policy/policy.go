package policy

import "time"

// Effect is what a rule says about a call.
type Effect string

// The effects, from the mildest to the strictest.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Valid reports whether an effect is one of the three.
func (e Effect) Valid() bool { return e.strictness() > 0 }

func (e Effect) strictness() int {
	switch e {
	case Allow:
		return 1
	case Ask:
		return 2
	case Deny:
		return 3
	default:
		return 0
	}
}

// Rule is one rule. The first match of each owner counts, and of the owners the stricter: deny, then ask, then allow.
type Rule struct {
	// Pattern is "*", an exact address, an address with "*" for exactly one segment each, or one whose trailing ".*" stands for
	// everything below, the prefix itself included.
	Pattern string `json:"pattern"`
	Effect  Effect `json:"effect"`
	// Account limits the rule to one account: it may tighten what the organisation's rules say and not loosen it. Empty: everybody.
	Account string `json:"account,omitempty"`
	// Window is how long a person may take; 0: the default. 1 s to 30 days.
	Window time.Duration `json:"window,omitempty"`
	// ModelMayAnswer lets the client itself answer by the tool resume.
	ModelMayAnswer bool `json:"modelMayAnswer,omitempty"`
}

// Verdict is what applies to a call.
type Verdict struct {
	Effect Effect
	// Reason says why in words: `rule 2: github.*`, `annotation: destructive`, `no annotation`.
	Reason         string
	Pattern        string // of the rule; empty: none matched
	Window         time.Duration
	ModelMayAnswer bool
}
