package catalog

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

// known is one tool with what was worked out about it.
type known struct {
	tool  Tool
	words toolWords

	compiling sync.Once
	validator *validator
}

// snapshot is all tools at one time. It never changes.
type snapshot struct {
	tools  map[string]*known // by address
	sorted []*known          // by address
	names  []string          // of the sources, sorted
	rules  uint64            // which overrides it was made with
}

// build makes a snapshot, and takes from the one before what has not changed.
func build(sources []*source, overrides map[string]policy.Override, rules uint64, before *snapshot) *snapshot {
	next := &snapshot{tools: map[string]*known{}, rules: rules}
	for _, source := range sources {
		name := source.definition.name
		next.names = append(next.names, name)
		tools, _ := source.known()
		override := overrides[name]
		for _, tool := range tools {
			tool.Annotations = override.For(tool.Name).Over(tool.Annotations)
			tool.HonoursKey = override.HonoursKey
			entry := before.unchanged(tool)
			if entry == nil {
				entry = &known{tool: tool, words: wordsOfTool(tool)}
			}
			next.tools[tool.Address] = entry
			next.sorted = append(next.sorted, entry)
		}
	}
	slices.SortFunc(next.sorted, func(a, b *known) int { return strings.Compare(a.tool.Address, b.tool.Address) })
	return next
}

func (s *snapshot) unchanged(tool Tool) *known {
	if s == nil {
		return nil
	}
	entry := s.tools[tool.Address]
	if entry == nil || !bytes.Equal(entry.tool.Raw, tool.Raw) || entry.tool.HonoursKey != tool.HonoursKey ||
		!same(entry.tool.Annotations, tool.Annotations) {
		return nil
	}
	return entry
}

func same(a, b policy.Annotations) bool {
	equal := func(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }
	return equal(a.ReadOnly, b.ReadOnly) && equal(a.Destructive, b.Destructive) &&
		equal(a.Idempotent, b.Idempotent) && equal(a.OpenWorld, b.OpenWorld)
}

func (k *known) compiled(log *slog.Logger) *validator {
	k.compiling.Do(func() {
		compiled, err := compile(k.tool.Input)
		if err != nil {
			log.Warn("schema of a tool cannot be used, its arguments are not checked", "tool", k.tool.Address)
			return
		}
		k.validator = compiled
	})
	return k.validator
}
