package policyfile_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/policyfile"
)

var defaults = policy.Defaults{Window: 4 * time.Minute}

const whole = `
rules:
  - {pattern: github.read, effect: allow}
  - pattern: github.*
    effect: ask
    window: 90s
    modelMayAnswer: true
  - {pattern: "*", effect: deny, account: visitor}
sources:
  github:
    honoursKey: true
    annotations:
      read: {readOnlyHint: false, destructiveHint: true}
      "*": {idempotentHint: true}
`

// bench is a file with a clock that the test moves.
type bench struct {
	path string
	now  atomic.Int64
	log  bytes.Buffer
	file *policyfile.File
}

func open(t *testing.T, text string) *bench {
	t.Helper()
	b := &bench{path: filepath.Join(t.TempDir(), "policy.yaml")}
	b.now.Store(time.Now().UnixNano())
	b.write(t, text)
	file, err := policyfile.Open(policyfile.Params{
		Path: b.path, Defaults: defaults, Log: slog.New(slog.NewTextHandler(&b.log, nil)),
		Now: func() time.Time { return time.Unix(0, b.now.Load()) },
	})
	require.NoError(t, err)
	b.file = file
	return b
}

// write gives the file another text and another time.
func (b *bench) write(t *testing.T, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(b.path, []byte(text), 0o600))
	at := time.Unix(0, b.now.Load())
	require.NoError(t, os.Chtimes(b.path, at, at))
}

func (b *bench) pass(d time.Duration) { b.now.Add(int64(d)) }

func TestAFileSaysRulesAndWhatSourcesAreLike(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	got := open(t, whole).file.Current()
	require.Equal(t, []policy.Rule{
		{Pattern: "github.read", Effect: policy.Allow},
		{Pattern: "github.*", Effect: policy.Ask, Window: 90 * time.Second, ModelMayAnswer: true},
		{Pattern: "*", Effect: policy.Deny, Account: "visitor"},
	}, got.Rules)
	require.Equal(t, map[string]policy.Override{"github": {HonoursKey: true, Annotations: map[string]policy.Annotations{
		"read": {ReadOnly: no, Destructive: yes}, "*": {Idempotent: yes},
	}}}, got.Overrides)
	require.Equal(t, policy.Version(got.Rules, defaults), got.Version)
	require.Equal(t, policy.Ask, got.Decide(policy.Call{Address: "github.write"}).Effect)
}

func TestWithoutAFileAnnotationsDecide(t *testing.T) {
	t.Parallel()
	file, err := policyfile.Open(policyfile.Params{Defaults: defaults})
	require.NoError(t, err)
	require.Equal(t, policy.Verdict{Effect: policy.Ask, Reason: "no annotation", Window: 4 * time.Minute},
		file.Current().Decide(policy.Call{Address: "a.b"}))
	overrides, _ := file.Overrides()
	require.Empty(t, overrides)
}

func TestEveryFaultIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want []string
	}{
		{
			"rules:\n  - {pattern: a.*, effect: allow, efect: deny}\n  - {pattern: [a]}\nmore: 1\n",
			[]string{
				`:2: unknown key "efect" in rules[0]: known are pattern, effect, account, window, modelMayAnswer`,
				`:3: rules[1].pattern must be a single value`,
				`:4: unknown key "more" in the document: known are rules, sources`,
			},
		},
		{
			"rules:\n  - {pattern: a*, effect: ask, window: soon}\n  - {effect: no}\nsources:\n  A.b: {}\n  c: {annotations: {'a/b': {}}}\n",
			[]string{
				`: rules[0].window: it is no duration: write a number and a unit, such as 4m`,
				`: rules[0].pattern: "a*" is partly a wildcard: * stands for a whole part between dots`,
				`: rules[1].pattern: it is empty: write an address, or * for every tool`,
				`: rules[1].effect: give allow, ask or deny`,
				`: sources.c.annotations: "a/b" is no tool's name, nor * for all`,
				`: sources: "A.b" is no source's name: those are 1 to 64 of a-z 0-9 _ -`,
			},
		},
		{"rules: []\n---\nrules: []\n", []string{": it must hold one document"}},
	} {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		require.NoError(t, os.WriteFile(path, []byte(tc.text), 0o600))
		_, err := policyfile.Open(policyfile.Params{Path: path})
		require.Error(t, err)
		var want []string
		for _, each := range tc.want {
			want = append(want, path+each)
		}
		require.Equal(t, want, strings.Split(strings.TrimPrefix(err.Error(), "read policy: "), "\n"))
	}
	_, err := policyfile.Open(policyfile.Params{Path: filepath.Join(t.TempDir(), "none")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAChangedFileIsReadAgainAfterASecond(t *testing.T) {
	t.Parallel()
	b := open(t, whole)
	before := b.file.Current()
	_, generation := b.file.Overrides()

	b.pass(500 * time.Millisecond)
	b.write(t, "rules: [{pattern: '*', effect: deny}]\n")
	require.Same(t, before, b.file.Current(), "looked at once a second at most")

	b.pass(600 * time.Millisecond)
	after := b.file.Current()
	require.Equal(t, policy.Deny, after.Decide(policy.Call{Address: "github.read"}).Effect)
	require.NotEqual(t, before.Version, after.Version)
	_, next := b.file.Overrides()
	require.Greater(t, next, generation)

	b.pass(time.Hour)
	require.Same(t, after, b.file.Current(), "nothing has changed")
}

func TestABadFileLeavesTheLastGoodRulesAndIsToldOnce(t *testing.T) {
	t.Parallel()
	b := open(t, whole)
	before := b.file.Current()
	for _, change := range []func(){
		func() { b.write(t, "rules: [{pattern: a.*, effect: s3cr3t}]\n") },
		func() { require.NoError(t, os.Remove(b.path)) },
	} {
		b.log.Reset()
		b.pass(2 * time.Second)
		change()
		for range 3 {
			b.pass(2 * time.Second)
			require.Same(t, before, b.file.Current())
		}
		require.LessOrEqual(t, strings.Count(b.log.String(), "level=ERROR"), 1)
		require.NotContains(t, b.log.String(), "s3cr3t")
	}
	b.log.Reset()
	b.write(t, "rules: []\n")
	b.pass(2 * time.Second)
	require.Empty(t, b.file.Current().Rules)
	require.Contains(t, b.log.String(), "policy was read again")

	b.log.Reset()
	b.pass(2 * time.Second)
	b.write(t, "rules: 1\n")
	b.pass(2 * time.Second)
	require.Empty(t, b.file.Current().Rules)
	require.Contains(t, b.log.String(), "level=ERROR")
}
