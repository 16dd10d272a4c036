package denies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// everything is the pattern with which the engine asks whether an MCP tool may be called at all.
const everything = "*"

// ErrShape is in the chain of every error of this package: the configuration is not what this engine version tells.
var ErrShape = errors.New("the engine's configuration has a form that is not known")

// Action is what a rule says.
type Action string

// The actions of rules.
const (
	Allow Action = "allow"
	Ask   Action = "ask"
	Deny  Action = "deny"
)

func (a Action) known() bool { return a == Allow || a == Ask || a == Deny }

// rule says what is done with calls of the tools that its permission matches. Its pattern limits it to some calls; an MCP
// tool is called with the pattern "*" whatever its arguments are.
type rule struct {
	permission string
	pattern    string
	action     Action
}

// covers reports whether the rule decides on calls of the tool.
func (r rule) covers(tool string) bool {
	return matches(tool, r.permission) && matches(everything, r.pattern)
}

// rulesOf reads a permission: one action for everything, or an object of rules, in its order.
func rulesOf(permission json.RawMessage) ([]rule, error) {
	if absent(permission) {
		return nil, nil
	}
	if action, ok := actionOf(permission); ok {
		return []rule{{everything, everything, action}}, nil
	}
	members, err := membersOf(permission)
	if err != nil {
		return nil, fmt.Errorf("read permission: %w", err)
	}
	var rules []rule
	for _, m := range members {
		if action, ok := actionOf(m.value); ok {
			rules = append(rules, rule{m.name, everything, action})
			continue
		}
		patterns, err := membersOf(m.value)
		if err != nil {
			return nil, fmt.Errorf("read a rule of permission: %w", err)
		}
		for _, p := range patterns {
			action, ok := actionOf(p.value)
			if !ok {
				return nil, fmt.Errorf("read a rule of permission: %w", ErrShape)
			}
			rules = append(rules, rule{m.name, p.name, action})
		}
	}
	return rules, nil
}

// switchesOf reads `tools`, the older form: a tool is on or off.
func switchesOf(tools json.RawMessage) ([]rule, error) {
	if absent(tools) {
		return nil, nil
	}
	members, err := membersOf(tools)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	rules := make([]rule, 0, len(members))
	for _, m := range members {
		var on bool
		if json.Unmarshal(m.value, &on) != nil || bytes.Equal(m.value, []byte("null")) {
			return nil, fmt.Errorf("read tools: %w", ErrShape)
		}
		action := Deny
		if on {
			action = Allow
		}
		rules = append(rules, rule{m.name, everything, action})
	}
	return rules, nil
}

func absent(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}

func actionOf(raw json.RawMessage) (Action, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return "", false
	}
	return Action(text), Action(text).known()
}

// member is one member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf reads an object's members in the order in which they stand, which decides between rules.
func membersOf(raw json.RawMessage) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, ErrShape
	}
	var members []member
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, ErrShape
		}
		m := member{}
		m.name, _ = name.(string)
		if err := decoder.Decode(&m.value); err != nil {
			return nil, ErrShape
		}
		members = append(members, m)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, ErrShape
	}
	return members, nil
}

// matches is the engine's own wildcard: * is any text, ? is any one character, all else is itself, case counts. What ends
// in " *" also matches without that end.
func matches(text, pattern string) bool {
	text, pattern = strings.ReplaceAll(text, `\`, "/"), strings.ReplaceAll(pattern, `\`, "/")
	if before, ok := strings.CutSuffix(pattern, " *"); ok && wild([]rune(text), []rune(before)) {
		return true
	}
	return wild([]rune(text), []rune(pattern))
}

// wild goes back only to the last star, which is enough and keeps it from taking for ever.
func wild(text, pattern []rune) bool {
	t, p, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			t, p = t+1, p+1
		case star >= 0:
			from++
			t, p = from, star+1
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
