package temporalclient_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

const canary = "canary-9f27c1"

// leakWorkflow puts its input wherever a payload or a text of ours can go.
func leakWorkflow(ctx workflow.Context, secret string) error {
	workflow.SetCurrentDetails(ctx, secret)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 5 * time.Second, Summary: secret, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	err := workflow.ExecuteActivity(ctx, "leak", secret).Get(ctx, nil)
	if err == nil {
		return errors.New("the activity must fail")
	}
	if err := workflow.UpsertMemo(ctx, map[string]any{"note": secret}); err != nil {
		return err
	}
	if err := workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: secret}).Get(ctx, nil); err != nil {
		return err
	}
	return err
}

func leakActivity(_ context.Context, secret string) error {
	return temporal.NewApplicationErrorWithOptions("failed with "+secret, "Leak", temporal.ApplicationErrorOptions{
		Details: []any{secret}, Cause: errors.New("because of " + secret),
	})
}

// runLeak runs the workflow to its failure with sealed payloads.
func runLeak(t *testing.T, id string, options temporalclient.Options) {
	t.Helper()
	sealed, err := temporalclient.Dial(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(sealed.Close)
	host := worker.New(sealed, id, worker.Options{DisableRegistrationAliasing: true})
	host.RegisterWorkflowWithOptions(leakWorkflow, workflow.RegisterOptions{Name: "leak"})
	host.RegisterActivityWithOptions(leakActivity, activity.RegisterOptions{Name: "leak"})
	require.NoError(t, host.Start())
	defer host.Stop()

	run, err := sealed.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: id, Memo: map[string]any{"memo": canary}, StaticSummary: canary, StaticDetails: canary,
	}, "leak", canary)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	require.ErrorContains(t, run.Get(ctx, nil), canary, "the client that sealed it reads it")
}

func TestNothingOfASealedWorkflowIsReadableOnTheServer(t *testing.T) {
	t.Parallel()
	options := plainOptions(sharedServer(t).Address())
	options.Plain, options.AEAD = false, newAEAD(t)
	id := unique("leak-history")
	runLeak(t, id, options)

	raw := dialShared(t, "default")
	var events []*historypb.HistoryEvent
	history := raw.GetWorkflowHistory(t.Context(), id, "", false, 0)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		events = append(events, event)
	}
	written, err := protojson.Marshal(&historypb.History{Events: events})
	require.NoError(t, err)
	require.Contains(t, string(written), "holdfast-test@dev/")
	require.False(t, readable(string(written)))

	described, err := raw.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	written, err = protojson.Marshal(described.RawResponse)
	require.NoError(t, err)
	require.False(t, readable(string(written)))
}

func TestTheStockCLIReadsInClearThroughTheCodecEndpoint(t *testing.T) {
	t.Parallel()
	options := plainOptions(sharedServer(t).Address())
	options.Plain, options.AEAD = false, newAEAD(t)
	id := unique("leak-cli")
	runLeak(t, id, options)
	secret := temporalclient.NewCodecSecret()
	handler, err := temporalclient.CodecHandler(temporalclient.CodecOptions{
		Codec: temporalclient.NewCodec(options.AEAD), PathSecret: secret, BearerToken: codecToken,
	})
	require.NoError(t, err)
	endpoint := httptest.NewServer(expectNoRefusal(t, handler))
	t.Cleanup(endpoint.Close)

	for name, tc := range map[string]struct {
		flags []string
		clear bool
	}{
		"without it":      {nil, false},
		"by path secret":  {[]string{"--codec-endpoint", endpoint.URL + "/" + secret}, true},
		"by bearer token": {[]string{"--codec-endpoint", endpoint.URL, "--codec-auth", "Bearer " + codecToken}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown := runCLI(t, append([]string{"workflow", "show", "--workflow-id", id, "--output", "json"}, tc.flags...)...)
			described := runCLI(t, append([]string{"workflow", "describe", "--workflow-id", id, "--output", "json"}, tc.flags...)...)
			require.Equal(t, tc.clear, readable(shown), shown)
			require.Equal(t, tc.clear, readable(described), described)
		})
	}
}

// readable reports whether the canary lies in a text, be it as it is or as the data of a plain payload, which JSON shows in
// base64.
func readable(text string) bool {
	encoded := base64.StdEncoding.EncodeToString([]byte(`"` + canary + `"`))
	return strings.Contains(text, canary) || strings.Contains(text, encoded)
}

// expectNoRefusal fails the test when the stock CLI, used as documented, is refused.
func expectNoRefusal(t *testing.T, next http.Handler) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		next.ServeHTTP(recorder, r)
		if recorder.Code != http.StatusOK {
			t.Errorf("codec endpoint answered %d to %s", recorder.Code, r.URL.Path)
		}
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	})
}

// runCLI runs the Temporal CLI against the shared server and returns what it printed.
func runCLI(t *testing.T, args ...string) string {
	t.Helper()
	cli, err := temporalclient.FindCLI(t.Context(), temporalclient.CLIOptions{})
	require.NoError(t, err)
	args = append(args, "--address", sharedServer(t).Address())
	output, err := exec.CommandContext(t.Context(), cli.Path, args...).CombinedOutput()
	require.NoError(t, err, string(output))
	return string(output)
}
