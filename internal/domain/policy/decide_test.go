package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

var (
	yes, no  = new(true), new(false)
	defaults = policy.Defaults{Window: 4 * time.Minute, ModelMayAnswer: true}
)

func TestTheFirstMatchingRuleOfAnOwnerCounts(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{
		{Pattern: "github.read", Effect: policy.Allow},
		{Pattern: "github.*", Effect: policy.Ask, Window: time.Hour},
		{Pattern: "*", Effect: policy.Deny},
	}
	require.Equal(t, policy.Verdict{Effect: policy.Allow, Reason: "rule 1: github.read", Pattern: "github.read"},
		policy.Decide(rules, defaults, policy.Call{Address: "github.read"}))
	require.Equal(t, policy.Verdict{Effect: policy.Ask, Reason: "rule 2: github.*", Pattern: "github.*", Window: time.Hour},
		policy.Decide(rules, defaults, policy.Call{Address: "github.write", Annotations: policy.Annotations{ReadOnly: yes}}))
	require.Equal(t, policy.Deny, policy.Decide(rules, defaults, policy.Call{Address: "other.read"}).Effect)

	rules[0], rules[2] = rules[2], rules[0]
	require.Equal(t, policy.Deny, policy.Decide(rules, defaults, policy.Call{Address: "github.read"}).Effect, "order matters")
}

func TestARuleThatAsksWithoutAWindowHasTheDefaultOne(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{{Pattern: "*", Effect: policy.Ask, ModelMayAnswer: true}}
	require.Equal(t,
		policy.Verdict{Effect: policy.Ask, Reason: "rule 1: *", Pattern: "*", Window: 4 * time.Minute, ModelMayAnswer: true},
		policy.Decide(rules, defaults, policy.Call{Address: "a.b"}))
}

// case 58
func TestAnnotationsDecideWhereNoRuleMatches(t *testing.T) {
	t.Parallel()
	rules := []policy.Rule{{Pattern: "other.*", Effect: policy.Deny}, {Pattern: "*", Effect: policy.Deny, Account: "somebody"}}
	for _, tc := range []struct {
		hints  policy.Annotations
		want   policy.Effect
		reason string
	}{
		{policy.Annotations{}, policy.Ask, "no annotation"},
		{policy.Annotations{ReadOnly: yes}, policy.Allow, "annotation: read-only"},
		{policy.Annotations{ReadOnly: yes, Destructive: yes}, policy.Allow, "annotation: read-only"},
		{policy.Annotations{ReadOnly: no}, policy.Ask, "annotation: not said to be harmless"},
		{policy.Annotations{Idempotent: yes}, policy.Ask, "annotation: not said to be harmless"},
		{policy.Annotations{Destructive: yes, Idempotent: yes}, policy.Ask, "annotation: destructive"},
		{policy.Annotations{Destructive: no}, policy.Ask, "annotation: not idempotent"},
		{policy.Annotations{Destructive: no, Idempotent: no}, policy.Ask, "annotation: not idempotent"},
		{policy.Annotations{Destructive: no, Idempotent: yes}, policy.Allow, "annotation: idempotent, not destructive"},
		{policy.Annotations{OpenWorld: no}, policy.Ask, "annotation: not said to be harmless"},
	} {
		got := policy.Decide(rules, defaults, policy.Call{Address: "a.b", Account: "me", Annotations: tc.hints})
		require.Equal(t, tc.want, got.Effect, tc.reason)
		require.Equal(t, tc.reason, got.Reason)
		require.Empty(t, got.Pattern)
		require.Equal(t, tc.want == policy.Ask, got.ModelMayAnswer)
		require.Equal(t, tc.want == policy.Ask, got.Window == defaults.Window)
	}
}

func TestAnAccountTightensWhatItsOrganisationLeavesOpen(t *testing.T) {
	t.Parallel()
	rule := func(effect policy.Effect, account string, window time.Duration, model bool) policy.Rule {
		return policy.Rule{Pattern: "a.*", Effect: effect, Account: account, Window: window, ModelMayAnswer: model}
	}
	decide := func(rules ...policy.Rule) policy.Verdict {
		return policy.Decide(rules, defaults, policy.Call{Address: "a.b", Account: "me"})
	}
	require.Equal(t, "rule 2: a.*", decide(rule(policy.Allow, "", 0, false), rule(policy.Deny, "me", 0, false)).Reason)
	require.Equal(t, "rule 1: a.*", decide(rule(policy.Deny, "", 0, false), rule(policy.Allow, "me", 0, false)).Reason)
	both := decide(rule(policy.Ask, "me", time.Hour, true), rule(policy.Ask, "", 2*time.Hour, false))
	require.Equal(t, policy.Verdict{Effect: policy.Ask, Reason: "rule 2: a.*", Pattern: "a.*", Window: time.Hour}, both)
	require.Equal(t, 2*time.Hour, decide(rule(policy.Ask, "me", 3*time.Hour, true), rule(policy.Ask, "", 2*time.Hour, true)).Window)
}

func TestAnAccountsRulesNeverLoosenTheOrganisations(t *testing.T) {
	t.Parallel()
	strictness := map[policy.Effect]int{policy.Allow: 1, policy.Ask: 2, policy.Deny: 3}
	rapid.Check(t, func(t *rapid.T) {
		organisation := rapid.SliceOfN(drawRule(""), 0, 5).Draw(t, "organisation")
		account := rapid.SliceOfN(drawRule("me"), 0, 5).Draw(t, "account")
		call := policy.Call{Address: drawAddress().Draw(t, "address"), Account: "me", Annotations: drawHints().Draw(t, "hints")}
		require.NoError(t, policy.Validate(append(append([]policy.Rule{}, organisation...), account...)))

		alone := policy.Decide(organisation, defaults, call)
		both := policy.Decide(append(append([]policy.Rule{}, account...), organisation...), defaults, call)

		if alone.Pattern == "" {
			return // nothing was said by the organisation
		}
		require.GreaterOrEqual(t, strictness[both.Effect], strictness[alone.Effect])
		if both.Effect == policy.Ask && alone.Effect == policy.Ask {
			require.LessOrEqual(t, both.Window, alone.Window)
			require.False(t, both.ModelMayAnswer && !alone.ModelMayAnswer)
		}
		other := call
		other.Account = "other"
		require.Equal(t, alone.Effect, policy.Decide(append(account, organisation...), defaults, other).Effect, "rules of others do not count")
	})
}

func TestRulesOfDifferentOwnersMayStandInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		organisation := rapid.SliceOfN(drawRule(""), 1, 4).Draw(t, "organisation")
		account := rapid.SliceOfN(drawRule("me"), 1, 4).Draw(t, "account")
		call := policy.Call{Address: drawAddress().Draw(t, "address"), Account: "me"}
		before := policy.Decide(append(append([]policy.Rule{}, account...), organisation...), defaults, call)
		after := policy.Decide(append(append([]policy.Rule{}, organisation...), account...), defaults, call)
		before.Reason, after.Reason = "", "" // names a rule by its place
		require.Equal(t, before, after)
	})
}

func TestEveryFaultOfRulesIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	err := policy.Validate([]policy.Rule{
		{Pattern: "a.*", Effect: policy.Allow},
		{Pattern: "a*", Effect: "block"},
		{Pattern: "a.b", Effect: policy.Ask, Window: time.Millisecond},
		{Pattern: "a.b", Effect: policy.Deny, Window: time.Hour, ModelMayAnswer: true},
	})
	require.Equal(t, []string{
		`rules[1].pattern: "a*" is partly a wildcard: * stands for a whole part between dots`,
		"rules[1].effect: give allow, ask or deny",
		"rules[2].window: 1ms is out of range: give 1s to 720h0m0s",
		"rules[3].window: only a rule that asks has one",
		"rules[3].modelMayAnswer: only a rule that asks has it",
	}, strings.Split(err.Error(), "\n"))
	var fault *policy.RuleError
	require.ErrorAs(t, err, &fault)
	require.Equal(t, "rules[1].pattern", fault.Path)
}

func TestAnOperatorsWordStandsOverTheTools(t *testing.T) {
	t.Parallel()
	override := policy.Override{Annotations: map[string]policy.Annotations{
		"get": {ReadOnly: yes, Destructive: no},
		"*":   {Destructive: yes},
	}}
	tools := policy.Annotations{ReadOnly: no, Idempotent: yes}
	require.Equal(t, policy.Annotations{ReadOnly: yes, Destructive: no, Idempotent: yes}, override.For("get").Over(tools))
	require.Equal(t, policy.Annotations{ReadOnly: no, Destructive: yes, Idempotent: yes}, override.For("other").Over(tools))
	require.Equal(t, tools, policy.Override{}.For("get").Over(tools))
}

func drawAddress() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a.x", "a.y", "a.x.z", "b.x", "b"})
}

func drawRule(account string) *rapid.Generator[policy.Rule] {
	return rapid.Custom(func(t *rapid.T) policy.Rule {
		rule := policy.Rule{
			Pattern: rapid.SampledFrom([]string{"*", "a.*", "a.x", "a.*.z", "b.*", "b.x"}).Draw(t, "pattern"),
			Effect:  rapid.SampledFrom([]policy.Effect{policy.Allow, policy.Ask, policy.Deny}).Draw(t, "effect"),
			Account: account,
		}
		if rule.Effect == policy.Ask {
			rule.Window = time.Duration(rapid.IntRange(0, 600).Draw(t, "window")) * time.Second
			rule.ModelMayAnswer = rapid.Bool().Draw(t, "model")
		}
		return rule
	})
}

func drawHints() *rapid.Generator[policy.Annotations] {
	return rapid.Custom(func(t *rapid.T) policy.Annotations {
		hint := rapid.SampledFrom([]*bool{nil, yes, no})
		return policy.Annotations{
			ReadOnly: hint.Draw(t, "readOnly"), Destructive: hint.Draw(t, "destructive"), Idempotent: hint.Draw(t, "idempotent"),
		}
	})
}
