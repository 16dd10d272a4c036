package denies

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// usualAgent works on prompts where the configuration names none.
const usualAgent = "build"

// Where a rule comes from.
const (
	// SourceProject is anything that holds for the directory: its own files, those of its parents, the environment.
	SourceProject = "config.project"
	// SourceGlobal is the engine's global configuration.
	SourceGlobal = "config.global"
	// SourceUnknown is when the global configuration could not be read: the rule is in one or the other.
	SourceUnknown = "config"
)

// In which form a rule is written.
const (
	StylePermission      = "permission"
	StyleTools           = "tools"
	StyleAgentPermission = "agent.permission"
	StyleAgentTools      = "agent.tools"
)

// Config is what matters of an engine's configuration, as JSON in the engine's order; an empty part is absent.
type Config struct {
	Permission json.RawMessage
	Tools      json.RawMessage
	// Agents are the agents by name.
	Agents map[string]Agent
	// DefaultAgent is the name of the agent that works on prompts; empty is the engine's own choice.
	DefaultAgent string
}

// Agent is what matters of an agent's configuration.
type Agent struct {
	Permission json.RawMessage
	Tools      json.RawMessage
}

// Denial is a rule that keeps one tool from models. Its texts are redacted.
type Denial struct {
	Source  string `json:"source"`
	Style   string `json:"style"`
	Pattern string `json:"pattern"`
	// Matched is the engine's id of the tool.
	Matched string `json:"matched"`
}

// Unknown is a part of the configuration that could not be judged.
type Unknown struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// Of tells which of the tools, given by the engine's ids, the default agent may not call, in their order. effective is the
// engine's merged configuration; global, where it is known, the global one alone. Every error wraps [ErrShape] and quotes
// nothing.
func Of(tools []string, effective Config, global *Config) ([]Denial, error) {
	name := effective.DefaultAgent
	if name == "" {
		name = usualAgent
	}
	agent := effective.Agents[name]
	common, err := rulesOf(effective.Permission)
	if err != nil {
		return nil, err
	}
	own, err := rulesOf(agent.Permission)
	if err != nil {
		return nil, fmt.Errorf("read the default agent: %w", err)
	}
	origins, err := originsOf(effective, global, name)
	if err != nil {
		return nil, err
	}
	found := []Denial{}
	for _, tool := range tools {
		decided, byAgent := lastOf(own, tool), true
		if decided == nil {
			decided, byAgent = lastOf(common, tool), false
		}
		if decided == nil || decided.action != Deny {
			continue
		}
		origin := origins.common
		if byAgent {
			origin = origins.agent
		}
		found = append(found, Denial{
			Source: origin.source(*decided), Style: origin.style(*decided),
			Pattern: redact.String(decided.permission), Matched: redact.String(tool),
		})
	}
	return found, nil
}

// lastOf is the rule that decides on the tool, nil when none does: the engine then allows it.
func lastOf(rules []rule, tool string) *rule {
	for i := range slices.Backward(rules) {
		if rules[i].covers(tool) {
			return &rules[i]
		}
	}
	return nil
}

// origin knows in which form and where the rules of one part are written.
type origin struct {
	inTools        []rule // as `tools` has them
	inGlobal       []rule
	globalUnknown  bool
	stylePermitted string
	styleTools     string
}

type origins struct{ common, agent origin }

func originsOf(effective Config, global *Config, agent string) (origins, error) {
	o := origins{
		common: origin{stylePermitted: StylePermission, styleTools: StyleTools, globalUnknown: global == nil},
		agent:  origin{stylePermitted: StyleAgentPermission, styleTools: StyleAgentTools, globalUnknown: global == nil},
	}
	var err error
	if o.common.inTools, err = switchesOf(effective.Tools); err != nil {
		return o, err
	}
	if o.agent.inTools, err = switchesOf(effective.Agents[agent].Tools); err != nil {
		return o, err
	}
	if global == nil {
		return o, nil
	}
	if o.common.inGlobal, err = written(global.Permission, global.Tools); err != nil {
		return o, fmt.Errorf("read the global configuration: %w", err)
	}
	theirs := global.Agents[agent]
	if o.agent.inGlobal, err = written(theirs.Permission, theirs.Tools); err != nil {
		return o, fmt.Errorf("read the global configuration: %w", err)
	}
	return o, nil
}

// written are all rules of a configuration that the engine has not merged yet.
func written(permission, tools json.RawMessage) ([]rule, error) {
	rules, err := rulesOf(permission)
	if err != nil {
		return nil, err
	}
	switches, err := switchesOf(tools)
	return append(switches, rules...), err
}

func (o origin) source(r rule) string {
	switch {
	case o.globalUnknown:
		return SourceUnknown
	case slices.Contains(o.inGlobal, r):
		return SourceGlobal
	default:
		return SourceProject
	}
}

func (o origin) style(r rule) string {
	if slices.Contains(o.inTools, r) {
		return o.styleTools
	}
	return o.stylePermitted
}
