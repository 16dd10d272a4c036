package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// claimWithin bounds reading the arguments and claiming the call; finishWithin bounds storing its result.
	claimWithin  = 20 * time.Second
	finishWithin = 90 * time.Second
	dropWithin   = 10 * time.Second
	// maxResult is what the store keeps of a result, in bytes.
	maxResult = 64 << 20
)

// Codes of calls that were not made.
const (
	// CodeNoExecution means that the store does not know the execution, or cannot read it.
	CodeNoExecution = "execution_not_stored"
	// CodeOtherCall means that the stored call is not the one that was decided on.
	CodeOtherCall = "call_changed"
	// CodeNoTool means that there is no such tool any more.
	CodeNoTool = "tool_not_found"
	// CodeSettled means that the execution was closed, as its run was thought to be gone.
	CodeSettled = "execution_settled"
	// CodeDenied means that a rule has come to deny the tool since the call was decided on.
	CodeDenied = "tool_denied"
)

// IdempotencyKey is what is sent upstream with each try of a call.
func IdempotencyKey(key string, number int) string { return key + "/" + strconv.Itoa(number) }

// Call makes one try of a call. What becomes of the call is its answer; an error means that this is not known, and that the store has to
// be asked.
func (a *Activities) Call(ctx context.Context, in CallRequest) (CallResult, error) {
	defer beat(ctx)()
	row, refused, err := a.arguments(ctx, in)
	if err != nil || refused != nil {
		return orNothing(refused), err
	}
	call := store.Call{
		Key: in.Key, Number: in.Number, Fence: in.Fence, Idempotency: IdempotencyKey(in.Key, in.Number), ClaimedAt: a.Now(),
	}
	found, claimed, err := a.claim(ctx, call)
	switch {
	case errors.Is(err, store.ErrSettled):
		return *refuse(CodeSettled, "the execution was closed before the call was made"), nil
	case err != nil:
		return CallResult{}, err
	case !claimed && !found.DoneAt.IsZero():
		return done(found), nil
	case !claimed:
		return CallResult{State: StateClaimed}, nil
	}
	// Whoever approves by the command line or in Temporal's UI has not asked the rules, and they may have changed since somebody did.
	if rule, denied := a.Denied(ctx, row.Identity.Account, row.Address); denied {
		return a.unanswered(ctx, call, &catalog.CallError{Address: row.Address, Code: CodeDenied, Message: rule, Answered: true})
	}
	answer, err := a.upstream(ctx, in, row)
	if err != nil {
		return a.unanswered(ctx, call, err)
	}
	return a.finish(ctx, call, answer)
}

func orNothing(r *CallResult) CallResult {
	if r == nil {
		return CallResult{}
	}
	return *r
}

// arguments reads the call, and refuses one that is not what was decided on.
func (a *Activities) arguments(ctx context.Context, in CallRequest) (row store.Execution, refused *CallResult, err error) {
	err = persist(ctx, claimWithin, func(ctx context.Context) error {
		row, err = a.Store.Execution(ctx, in.Key)
		return err
	})
	var corrupt *store.CorruptRowError
	switch {
	case errors.Is(err, store.ErrNotFound), errors.As(err, &corrupt):
		a.Log.ErrorContext(ctx, "call not made: its arguments cannot be read", "execution", in.Key, "error", err)
		return row, refuse(CodeNoExecution, "the arguments of the call cannot be read from the store"), nil
	case err != nil:
		return row, nil, fmt.Errorf("read arguments of execution: %w", err)
	case row.Digest != in.Digest || row.Address != in.Address:
		return row, refuse(CodeOtherCall, "the stored call is not the one that was decided on"), nil
	default:
		return row, nil, nil
	}
}

func refuse(code, message string) *CallResult {
	return &CallResult{State: StateRefused, Code: code, Message: message}
}

func (a *Activities) claim(ctx context.Context, want store.Call) (found store.Call, claimed bool, err error) {
	// Tried once: a claim that was written although an error came back would refuse the next.
	ctx, cancel := context.WithTimeout(ctx, claimWithin)
	defer cancel()
	found, claimed, err = a.Store.ClaimCall(ctx, want)
	if err != nil {
		return found, false, fmt.Errorf("claim call: %w", err)
	}
	return found, claimed, nil
}

// upstream calls the tool. A cancellation of the execution ends the call; that the server has given this try up does not: its answer may
// still be of use.
func (a *Activities) upstream(ctx context.Context, in CallRequest, row store.Execution) (catalog.CallResult, error) {
	patient, clock, release := newPatience(context.WithoutCancel(ctx), in.Timeout)
	defer release()
	detach := context.AfterFunc(ctx, func() {
		if calledOff(ctx) {
			release()
		}
	})
	defer detach()
	questions := &questions{activities: a, in: in, clock: clock}
	answer, err := a.Upstream.Call(patient, catalog.CallRequest{
		Address: in.Address, Arguments: json.RawMessage(row.Arguments), Key: IdempotencyKey(in.Key, in.Number), Elicit: questions.elicit,
	})
	var failure *catalog.CallError
	if errors.As(err, &failure) && errors.Is(context.Cause(patient), context.DeadlineExceeded) {
		failure.Code = catalog.CodeTimeout
	}
	return answer, err
}

// calledOff reports whether an activity was cancelled by its workflow.
func calledOff(ctx context.Context) bool { return temporal.IsCanceledError(context.Cause(ctx)) }

// unanswered tells of a call without a result. The claim of one that did not reach the tool is given back, once: a second try could take
// away the claim of somebody else.
func (a *Activities) unanswered(ctx context.Context, call store.Call, cause error) (CallResult, error) {
	failure := read(cause)
	a.Log.WarnContext(ctx, "upstream call without a result", "execution", call.Key, "address", failure.Address, "code", failure.Code,
		"sent", failure.Sent)
	said := CallResult{State: StateClaimed, Code: failure.Code, Message: words(failure)}
	switch {
	case failure.Unknown():
		return said, nil
	case failure.Answered:
		said.State = StateRefused
	default:
		said.State = StateNone
	}
	if failure.Sent {
		// The claim stays: who finds it must not make the call again.
		return said, nil
	}
	dropping, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
	defer cancel()
	dropped, err := a.Store.DropCall(dropping, call.Key, call.Number, call.Fence)
	if err != nil || !dropped {
		return CallResult{}, fmt.Errorf("give claim of call back: %w", errors.Join(err, cause))
	}
	return said, nil
}

// read takes what is not known for a call that may have run, and a tool that is missing for one that may come back: it was there when the
// call was asked for, and its source may be down.
func read(cause error) catalog.CallError {
	var failure *catalog.CallError
	if !errors.As(cause, &failure) {
		return catalog.CallError{Sent: true, Code: catalog.CodeProtocol, Cause: cause}
	}
	read := *failure
	switch {
	case read.Sent:
	case errors.Is(cause, catalog.ErrNoTool):
		read.Code, read.Answered = CodeNoTool, false
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled):
		read.Code, read.Answered = catalog.CodeTimeout, false
	}
	return read
}

func words(e catalog.CallError) string {
	var said string
	switch {
	case e.Code == CodeNoTool:
		said = "there is no such tool, or its source is down; the call was not made"
	case e.Code == CodeDenied:
		said = "the rules of this gateway deny the tool now; the call was not made"
	case e.Code == catalog.CodeUnauthorized:
		said = "the upstream refuses our credentials"
	case e.Code == catalog.CodeRefused:
		said = "the upstream refuses the call"
	case e.Unknown():
		said = "the upstream gave no answer; the call may have run"
	case e.Answered:
		said = "the upstream answered with an error"
	default:
		said = "the upstream cannot be reached; the call was not made"
	}
	if e.Message != "" {
		said += ": " + e.Message
	}
	return said
}

// finish stores the answer before anybody is told of it.
func (a *Activities) finish(ctx context.Context, call store.Call, answer catalog.CallResult) (CallResult, error) {
	call.Result, call.ToolError, call.DoneAt = answer.Result, answer.ToolError, a.Now()
	if len(call.Result) > maxResult {
		call.Result, call.ToolError = tooLong(len(call.Result)), true
	}
	err := persist(context.WithoutCancel(ctx), finishWithin, func(ctx context.Context) error { return a.Store.FinishCall(ctx, call) })
	if err != nil {
		return CallResult{}, fmt.Errorf("store result of call: %w", err)
	}
	return done(call), nil
}

// tooLong stands for a result that is not kept. The tool has answered, so it is an answer.
func tooLong(bytes int) []byte {
	return []byte(fmt.Sprintf(`{"content":[{"type":"text","text":"The tool was called and answered with %d bytes. More than %d are not kept."}],"isError":true}`,
		bytes, maxResult))
}

func done(c store.Call) CallResult {
	sum := sha256.Sum256(c.Result)
	return CallResult{State: StateDone, ToolError: c.ToolError, Digest: hex.EncodeToString(sum[:]), Bytes: len(c.Result)}
}
