package policyfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/config/strictyaml"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

const (
	maxFile  = 1 << 20
	maxRules = 5000
)

// document is the file as people write it.
type document struct {
	Rules   []rule            `yaml:"rules"`
	Sources map[string]source `yaml:"sources"`
}

type rule struct {
	Pattern        string `yaml:"pattern"`
	Effect         string `yaml:"effect"`
	Account        string `yaml:"account"`
	Window         string `yaml:"window"`
	ModelMayAnswer bool   `yaml:"modelMayAnswer"`
}

type source struct {
	HonoursKey  bool             `yaml:"honoursKey"`
	Annotations map[string]hints `yaml:"annotations"`
}

type hints struct {
	ReadOnly    *bool `yaml:"readOnlyHint"`
	Destructive *bool `yaml:"destructiveHint"`
	Idempotent  *bool `yaml:"idempotentHint"`
	OpenWorld   *bool `yaml:"openWorldHint"`
}

var (
	sourcePattern = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)
	toolPattern   = regexp.MustCompile(`^(\*|[A-Za-z0-9_.-]{1,128})$`)
)

// parse reads the text of a file. The error joins one error for each fault, with the file and where in it.
func parse(file string, data []byte) ([]policy.Rule, map[string]policy.Override, error) {
	documents, err := strictyaml.Documents(file, data, document{}, strictyaml.Options{})
	if err != nil {
		return nil, nil, err
	}
	if len(documents) > 1 {
		return nil, nil, &strictyaml.Error{File: file, Text: "it must hold one document"}
	}
	var written document
	for _, each := range documents {
		if err := each.Decode(&written); err != nil {
			return nil, nil, err
		}
	}
	rules, faults := written.rules()
	overrides, more := written.overrides()
	if faults = append(faults, more...); len(faults) > 0 {
		for i, fault := range faults {
			faults[i] = &strictyaml.Error{File: file, Text: fault.Error()}
		}
		return nil, nil, errors.Join(faults...)
	}
	return rules, overrides, nil
}

func (d document) rules() (rules []policy.Rule, faults []error) {
	if len(d.Rules) > maxRules {
		return nil, []error{fmt.Errorf("rules: there are more than %d", maxRules)}
	}
	for i, each := range d.Rules {
		window, err := time.ParseDuration(each.Window)
		if each.Window != "" && (err != nil || window == 0) {
			faults = append(faults, &policy.RuleError{
				Path: fmt.Sprintf("rules[%d].window", i), Reason: "it is no duration: write a number and a unit, such as 4m",
			})
		}
		rules = append(rules, policy.Rule{
			Pattern: each.Pattern, Effect: policy.Effect(each.Effect), Account: each.Account,
			Window: window, ModelMayAnswer: each.ModelMayAnswer,
		})
	}
	if err := policy.Validate(rules); err != nil {
		faults = append(faults, split(err)...)
	}
	return rules, faults
}

func split(err error) []error {
	if many, joined := err.(interface{ Unwrap() []error }); joined {
		return many.Unwrap()
	}
	return []error{err}
}

func (d document) overrides() (overrides map[string]policy.Override, faults []error) {
	overrides = make(map[string]policy.Override, len(d.Sources))
	for name, each := range d.Sources {
		if !sourcePattern.MatchString(name) {
			faults = append(faults, fmt.Errorf("sources: %q is no source's name: those are 1 to 64 of a-z 0-9 _ -", name))
		}
		override := policy.Override{HonoursKey: each.HonoursKey, Annotations: make(map[string]policy.Annotations, len(each.Annotations))}
		for tool, hints := range each.Annotations {
			if !toolPattern.MatchString(tool) {
				faults = append(faults, fmt.Errorf("sources.%s.annotations: %q is no tool's name, nor * for all", name, tool))
			}
			override.Annotations[tool] = policy.Annotations{
				ReadOnly: hints.ReadOnly, Destructive: hints.Destructive, Idempotent: hints.Idempotent, OpenWorld: hints.OpenWorld,
			}
		}
		overrides[name] = override
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return overrides, faults
}
