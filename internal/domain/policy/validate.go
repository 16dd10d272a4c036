package policy

import (
	"errors"
	"fmt"
	"time"
)

// The window of a rule, where it has one.
const (
	MinWindow = time.Second
	MaxWindow = 30 * 24 * time.Hour
)

// RuleError is one thing that is wrong with one rule.
type RuleError struct {
	Path   string // as the file has it: rules[2].pattern
	Reason string
}

func (e *RuleError) Error() string { return e.Path + ": " + e.Reason }

// Validate checks all rules. The error joins a [*RuleError] for each fault.
func Validate(rules []Rule) error {
	var faults []error
	for i, rule := range rules {
		fault := func(key, reason string) {
			faults = append(faults, &RuleError{Path: fmt.Sprintf("rules[%d].%s", i, key), Reason: reason})
		}
		if err := CheckPattern(rule.Pattern); err != nil {
			fault("pattern", err.Error())
		}
		if !rule.Effect.Valid() {
			fault("effect", "give allow, ask or deny")
		}
		if rule.Window != 0 && (rule.Window < MinWindow || rule.Window > MaxWindow) {
			fault("window", fmt.Sprintf("%s is out of range: give %s to %s", rule.Window, MinWindow, MaxWindow))
		}
		if rule.Effect != Ask && rule.Window != 0 {
			fault("window", "only a rule that asks has one")
		}
		if rule.Effect != Ask && rule.ModelMayAnswer {
			fault("modelMayAnswer", "only a rule that asks has it")
		}
	}
	return errors.Join(faults...)
}
