package e2e_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit"
	"github.com/holdfast-mcp/holdfast/internal/testkit/stack"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// finding is one line of what the doctor says.
type finding struct{ Level, Subject, Message, Action string }

// verdict is what the doctor says of an installation.
type verdict []finding

// bad are the lines that are neither ok nor info, as "level subject".
func (f verdict) bad() []string {
	var bad []string
	for _, one := range f {
		if one.Level == "warn" || one.Level == "fail" {
			bad = append(bad, one.Level+" "+one.Subject)
		}
	}
	slices.Sort(bad)
	return bad
}

// about is the one line of a level about a subject.
func (f verdict) about(t *testing.T, level, subject string) finding {
	t.Helper()
	i := slices.IndexFunc(f, func(one finding) bool { return one.Level == level && one.Subject == subject })
	require.GreaterOrEqual(t, i, 0, "no %s about %s in %+v", level, subject, f)
	return f[i]
}

// doctor asks the doctor about the installation of a stack. Settings come on top, as KEY=value.
func doctor(t *testing.T, s *stack.Stack, settings ...string) verdict {
	t.Helper()
	var stdout, stderr bytes.Buffer
	app := cli.New(cli.Options{Stdout: &stdout, Stderr: &stderr, WorkDir: t.TempDir(), Environ: append([]string{
		"HOLDFAST_DATA_DIR=" + s.Config.DataDir, "HOLDFAST_TEMPORAL_TASK_QUEUE=" + s.Config.Temporal.TaskQueue,
		"HOLDFAST_TEMPORAL_NAMESPACE_RETENTION=48h", "HOLDFAST_APPROVALS_RETENTION=24h", "HOLDFAST_GATEWAY_LISTEN=127.0.0.1:1", "TEMPORAL_ADDRESS=" + s.Server.Address(),
		"TEMPORAL_NAMESPACE=" + s.Server.Namespace(), "TEMPORAL_CONFIG_FILE=" + emptyFile(t),
	}, settings...)})
	code := app.Run(t.Context(), []string{"doctor", "-o", "json"})
	var answer struct {
		OK       bool
		Findings verdict
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &answer), "%s", stderr.String())
	require.Equal(t, map[bool]int{true: cli.ExitOK, false: cli.ExitError}[answer.OK], code)
	for _, one := range answer.Findings {
		require.Equal(t, one.Level == "ok", one.Action == "", "what is not ok says what to do: %+v", one)
	}
	return answer.Findings
}

func emptyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "temporal.toml")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

func TestDoctorFindsNothingWrongWithWhatIsWell(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	s.apply("")
	var got verdict
	testkit.Eventually(t, soon, func() bool {
		got = doctor(t, s.Stack)
		return len(got.bad()) == 0
	}, "nothing is wrong")
	require.Contains(t, got.about(t, "ok", "connections").Message, "1 ready")
	require.Contains(t, got.about(t, "info", "gateway").Action, "holdfast-gateway")
}

func TestDoctorNamesAWrongPassword(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	locked, err := simulator.NewEngine(simulator.EngineOptions{Password: "right"})
	require.NoError(t, err)
	t.Cleanup(locked.Close)
	key := s.Apply(stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineID: "main", EngineURL: locked.BaseURL(), EnginePassword: "wrong-5ecret",
		URL: s.endpoint.URL(),
	})
	s.AwaitState(key, delivery.Failed, soon)
	got := doctor(t, s.Stack)
	require.Equal(t, []string{"fail engine main", "warn connections"}, got.bad())
	require.Contains(t, got.about(t, "fail", "engine main").Message, "refuses the username or the password")
	require.Contains(t, got.about(t, "fail", "engine main").Action, "--engine-password-env")
	for _, one := range got {
		require.NotContains(t, one.Message, "5ecret")
	}
}

func TestDoctorNamesKeysetsOfAnotherStore(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{NoWorker: true}, simulator.EndpointOptions{})
	others := filepath.Join(t.TempDir(), "keys")
	_, err := keys.Open(others)
	require.NoError(t, err)
	got := doctor(t, s.Stack, "HOLDFAST_KEYS_DIR="+others)
	require.Contains(t, got.bad(), "fail store")
	require.Contains(t, got.about(t, "fail", "store").Message, "it was written with another aead keyset")
	require.Contains(t, got.about(t, "fail", "store").Action, "keys.dir")
	require.Equal(t, "ok", got.about(t, "ok", "keysets").Level, "they are well, and not the right ones")
}

func TestDoctorNamesWorkflowsThatOtherKeysetsSealed(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	s.apply("")
	other := newSimulated(t, stack.Options{NoWorker: true}, simulator.EndpointOptions{})
	var got verdict
	testkit.Eventually(t, soon, func() bool {
		got = doctor(t, other.Stack, "HOLDFAST_TEMPORAL_TASK_QUEUE="+s.Config.Temporal.TaskQueue)
		return slices.Equal(got.bad(), []string{"fail workflows"})
	}, "they are on a queue that is not their own")
	require.Contains(t, got.about(t, "fail", "workflows").Action, "temporal.task_queue")
}

func TestDoctorNamesAWorkerOnAnotherQueueAndWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{NoWorker: true}, simulator.EndpointOptions{})
	s.key = s.Put(stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineID: "main", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(),
	})
	got := doctor(t, s.Stack)
	require.Equal(t, []string{"fail workflows", "warn fleet", "warn workers"}, got.bad())
	require.Contains(t, got.about(t, "warn", "workers").Action, "temporal.task_queue")
	require.Contains(t, got.about(t, "fail", "workflows").Message, s.key.Workspace+"/cloud")
	require.Contains(t, got.about(t, "fail", "workflows").Action, "holdfast fleet reconcile")
}

func TestDoctorNamesWhatRunsAndIsNotWanted(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	s.apply("")
	_, err := s.Store.DeleteDesired(t.Context(), s.key)
	require.NoError(t, err)
	testkit.Eventually(t, soon, func() bool {
		return slices.Equal(doctor(t, s.Stack).bad(), []string{"warn workflows"})
	}, "the stray is named, and nothing else")
}

func TestDoctorNamesARevokedTokenTwiceFromBothSides(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{Token: "first"})
	s.apply("first")
	s.endpoint.Rotate("second")
	s.AwaitState(s.key, delivery.Failed, soon)
	subject := "endpoint of " + s.key.Workspace + "/cloud"
	var got verdict
	testkit.Eventually(t, soon, func() bool {
		got = doctor(t, s.Stack)
		return slices.Equal(got.bad(), []string{"fail " + subject, "warn connections"})
	}, "the token is what is wrong")
	require.Contains(t, got.about(t, "fail", subject).Message, "invalid_mcp_token")
	require.Contains(t, got.about(t, "warn", "connections").Message, "1 failed with invalid_mcp_token")
	require.Contains(t, got.about(t, "warn", "connections").Action, "--failure-code invalid_mcp_token")
}

func TestDoctorNamesARetentionThatIsTooShort(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	got := doctor(t, s.Stack, "HOLDFAST_TEMPORAL_NAMESPACE_RETENTION=192h")
	require.Contains(t, got.bad(), "fail retention")
	require.Contains(t, got.about(t, "fail", "retention").Message, "48h0m0s, 192h0m0s is needed")
}

func TestDoctorNamesAServerOfTheEnginesOwnConfiguration(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	directory, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s.engine.Configure(directory, "cloud", map[string]any{"type": "remote", "url": "http://127.0.0.1:1/mcp"})
	key := s.Apply(stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", Directory: directory, EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(),
	})
	s.AwaitState(key, delivery.Failed, soon)
	var got verdict
	testkit.Eventually(t, soon, func() bool {
		got = doctor(t, s.Stack)
		return slices.Equal(got.bad(), []string{"fail connection " + key.Workspace + "/cloud", "warn connections"})
	}, "the name is what is wrong")
	require.Contains(t, got.about(t, "fail", "connection "+key.Workspace+"/cloud").Message, "engine_config_conflict")
}

func TestDoctorNamesACertificateThatNobodyTrusts(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{NoWorker: true}, simulator.EndpointOptions{})
	secure := httptest.NewTLSServer(nil)
	t.Cleanup(secure.Close)
	key := s.Put(stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineURL: s.engine.BaseURL(), URL: secure.URL + "/mcp",
	})
	got := doctor(t, s.Stack).about(t, "fail", "endpoint of "+key.Workspace+"/cloud")
	require.Contains(t, strings.ToLower(got.Message), "certificate")
	require.Contains(t, got.Action, "certificate")
}

func TestDoctorNamesWhatIsWrongWithTheSourcesOfTokens(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{NoWorker: true}, simulator.EndpointOptions{})
	workspace := "w-" + testkit.UniqueName()
	for name, source := range map[string]*desired.TokenSource{
		"env":   {Kind: desired.SourceEnv, Variable: "NOT_SET_HERE"},
		"file":  {Kind: desired.SourceFile, Path: "/nowhere/token"},
		"grant": {Kind: desired.SourceClientCredentials, TokenURL: "http://127.0.0.1:1/token", ClientID: "c", ClientSecret: "5ecret"},
	} {
		s.Put(stack.Want{Workspace: workspace, Name: name, EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(), TokenSource: source})
	}
	got := doctor(t, s.Stack)
	require.Contains(t, got.about(t, "info", "token of "+workspace+"/env").Message, "NOT_SET_HERE", "a hint: it is the worker that reads it")
	require.Contains(t, got.about(t, "fail", "token of "+workspace+"/file").Message, "/nowhere/token")
	require.Contains(t, got.about(t, "fail", "token of "+workspace+"/grant").Message, "refused")
	require.Contains(t, got.about(t, "warn", "endpoint of "+workspace+"/env").Message, "there is no token that may be used")
}

func TestDoctorNamesWhatSomebodySwitchedOff(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	s.apply("")
	_, err := s.Store.PutIntent(t.Context(), store.Intent{
		Workspace: s.key.Workspace, Name: s.key.Name, Kind: store.IntentDisabled, By: "ann", Reason: "too loud",
	})
	require.NoError(t, err)
	require.NoError(t, s.Connections.Ensure(t.Context(), s.key, s.engine.BaseURL()[len("http://"):], connection.DesiredChanged{}))
	s.AwaitState(s.key, delivery.Failed, soon)
	got := doctor(t, s.Stack)
	require.Empty(t, got.bad(), "what was asked for is no fault")
	info := got.about(t, "info", "intents")
	require.Contains(t, info.Message, "is switched off by ann at "+time.Now().Format("2006-"))
	require.Contains(t, info.Message, "(too loud)")
	require.Contains(t, info.Action, "holdfast connection enable "+s.key.Workspace+"/cloud")
}

func TestDoctorTellsOfEachTroubleByItselfAndNamesTheToolsThatAreMissing(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	var keys []delivery.Key
	for _, tools := range [][]string{{"alpha"}, {"alpha"}, {"beta", "search_capabilities"}} {
		keys = append(keys, s.Apply(stack.Want{
			Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(), Expected: tools,
		}))
	}
	for _, key := range keys {
		s.AwaitState(key, delivery.Failed, soon)
	}
	var told []string
	testkit.Eventually(t, soon, func() bool {
		told = nil
		for _, one := range doctor(t, s.Stack) {
			if one.Level == "warn" && one.Subject == "connections" {
				told = append(told, one.Message)
			}
		}
		return len(told) == 2 && strings.HasPrefix(told[1]+told[0], "1 ") != strings.HasPrefix(told[0]+told[1], "1 ")
	}, "each trouble is told by itself")
	slices.SortFunc(told, func(a, b string) int { return strings.Compare(b, a) })
	require.Contains(t, told[0], ", missing alpha: ")
	require.Contains(t, told[0], keys[0].Workspace)
	require.Contains(t, told[0], keys[1].Workspace)
	require.Contains(t, told[1], ", missing beta: "+keys[2].Workspace)
}

func TestDoctorTellsOfAVariableThatTheWorkerLacks(t *testing.T) {
	t.Parallel()
	s := newSimulated(t, stack.Options{}, simulator.EndpointOptions{})
	key := s.Apply(stack.Want{
		Workspace: "w-" + testkit.UniqueName(), Name: "cloud", EngineURL: s.engine.BaseURL(), URL: s.endpoint.URL(),
		TokenSource: &desired.TokenSource{Kind: desired.SourceEnv, Variable: "NOT_SET_IN_THE_WORKER"},
	})
	s.AwaitState(key, delivery.Failed, soon)
	subject := "token of " + key.Workspace + "/cloud"
	var got verdict
	testkit.Eventually(t, soon, func() bool {
		got = doctor(t, s.Stack, "NOT_SET_IN_THE_WORKER=set-for-the-doctor-alone")
		return slices.Contains(got.bad(), "fail "+subject)
	}, "the worker's own lack is what is wrong")
	told := got.about(t, "fail", subject)
	require.Contains(t, told.Message, "the variable NOT_SET_IN_THE_WORKER: token_source_invalid")
	require.NotContains(t, told.Message, ".:")
	require.Contains(t, told.Action, "where the worker runs, and start the worker anew")
	require.NotContains(t, got.about(t, "warn", "endpoint of "+key.Workspace+"/cloud").Action, "start a worker")
}
