package execution_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	sessionactivity "github.com/holdfast-mcp/holdfast/activities/session"
	"github.com/holdfast-mcp/holdfast/activities/tool"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
	"github.com/holdfast-mcp/holdfast/internal/workerhost"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
	"github.com/holdfast-mcp/holdfast/workflows/session"
)

// workerEnv makes the test's own program a worker, so that a test can kill one.
const workerEnv = "HOLDFAST_TEST_WORKER"

// workerOptions are what a worker in a process of its own is told.
type workerOptions struct {
	Address, Namespace, Queue, Keys, Store, Upstream string
}

// workUntilKilled runs a worker that calls the upstream of the test, and returns only where it cannot start.
func workUntilKilled(raw string) int {
	err := work(raw)
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func work(raw string) error {
	var o workerOptions
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		return err
	}
	ctx := context.Background()
	owned, err := keys.Open(o.Keys)
	if err != nil {
		return err
	}
	rows, err := store.Open(ctx, store.Options{Path: o.Store, Keys: owned})
	if err != nil {
		return err
	}
	client, err := temporalclient.Dial(ctx, temporalclient.Options{
		Role: "worker", Version: "test", Address: o.Address, Namespace: o.Namespace, AEAD: owned.AEAD(), NoConfigFile: true,
	})
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	w := worker.New(client, o.Queue, worker.Options{DisableRegistrationAliasing: true, MaxHeartbeatThrottleInterval: 5 * time.Second})
	w.RegisterWorkflowWithOptions(execution.Workflow, workflow.RegisterOptions{Name: execution.WorkflowName})
	w.RegisterWorkflowWithOptions(session.Workflow, workflow.RegisterOptions{Name: session.WorkflowName})
	tool.NewActivities(tool.Params{
		Store: rows, Upstream: remote{url: o.Upstream}, Log: log, Retention: time.Hour,
		Asker: workerhost.NewAsker(execution.NewClient(client, o.Queue)),
	}).Register(w)
	sessionactivity.NewActivities(rows, time.Hour, log).Register(w)
	return w.Run(make(chan any))
}

// askingTool asks before it does anything, and does then what it was told.
const askingTool = "mail.ask"

// remote is the test's upstream, as a worker sees it.
type remote struct{ url string }

func (r remote) Call(ctx context.Context, call catalog.CallRequest) (catalog.CallResult, error) {
	if call.Address == askingTool {
		decision, err := call.Elicit(ctx, approval.Request{
			Kind: approval.KindForm, Message: "Which folder?", Schema: json.RawMessage(`{"type":"object"}`),
		})
		if err != nil {
			return catalog.CallResult{}, &catalog.CallError{Address: call.Address, Code: catalog.CodeProtocol, Cause: err}
		}
		if decision.Action != approval.ActionAccept {
			return catalog.CallResult{Result: json.RawMessage(`{"content":[],"isError":true}`), ToolError: true}, nil
		}
		call.Arguments = decision.Content
	}
	var sent bytes.Buffer
	if err := json.NewEncoder(&sent).Encode(wireCall{Address: call.Address, Key: call.Key, Arguments: call.Arguments}); err != nil {
		return catalog.CallResult{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, &sent)
	if err != nil {
		return catalog.CallResult{}, err
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return catalog.CallResult{}, &catalog.CallError{Address: call.Address, Sent: true, Code: "upstream_timeout", Cause: err}
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return catalog.CallResult{}, &catalog.CallError{Address: call.Address, Sent: true, Code: "upstream_timeout", Cause: err}
	}
	return catalog.CallResult{Result: raw}, nil
}

// wireCall is a call on its way to the test's upstream.
type wireCall struct {
	Address   string          `json:"address"`
	Key       string          `json:"key"`
	Arguments json.RawMessage `json:"arguments"`
}
