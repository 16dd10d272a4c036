package executions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const directPoll = 100 * time.Millisecond

// direct calls a harmless tool at once.
func (s *Service) direct(ctx context.Context, who Caller, call Call, p prepared) (Report, error) {
	began := s.now()
	report, err := s.try(ctx, call, p, "")
	if err == nil {
		s.called(who, p, began, report)
	}
	return report, err
}

// try makes one call. An error means that the tool was not reached.
func (s *Service) try(ctx context.Context, call Call, p prepared, key string) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, s.settings.CallTimeout)
	defer cancel()
	var asked atomic.Bool
	result, err := s.catalog.Call(ctx, catalog.CallRequest{
		Address: p.tool.Address, Arguments: p.arguments, Key: key,
		Elicit: func(context.Context, approval.Request) (approval.Decision, error) {
			if call.AutoApprove {
				return approval.Decision{Action: approval.ActionAccept, At: s.now()}, nil
			}
			asked.Store(true)
			return approval.Decision{Action: approval.ActionCancel, At: s.now()}, nil
		},
	})
	report := Report{Status: StatusCompleted, Address: p.tool.Address, Policy: p.policy.Version}
	if err != nil {
		report.Outcome, err = s.unanswered(p, key, err)
		return report, err
	}
	report.Result = result.Result
	report.Outcome = &approval.Outcome{Kind: approval.OutcomeCompleted, ToolError: result.ToolError, At: s.now(), Calls: 1, Bytes: len(result.Result)}
	if asked.Load() {
		report.Outcome.Code = codeNobodyAsked
		report.Outcome.Message = "the tool asked for something while it was called and was told \"cancel\": nobody is asked during calls that " +
			"the rules allow. A rule that says \"ask\" for it makes them wait for a person"
	}
	return report, nil
}

// codeNobodyAsked marks the outcome of a call in which a tool asked and nobody was there.
const codeNobodyAsked = "elicitation_cancelled"

// unanswered tells how a call ended that got no answer. A tool that was not reached is no outcome: nothing happened.
func (s *Service) unanswered(p prepared, key string, err error) (*approval.Outcome, error) {
	var failure *catalog.CallError
	if !errors.As(err, &failure) {
		return nil, fmt.Errorf("call %s: %w", p.tool.Address, err)
	}
	if !failure.Sent && failure.Code == "upstream_unreachable" {
		return nil, &UnavailableError{What: "upstream", Err: err}
	}
	outcome := &approval.Outcome{Kind: approval.OutcomeFailed, Code: failure.Code, Message: words(failure.Code), At: s.now()}
	if failure.Sent {
		outcome.Calls = 1
		if key != "" && !p.tool.Repeatable() {
			outcome.Kind = approval.OutcomeUnknown
		}
	}
	return outcome, nil
}

// words says what a code means.
func words(code string) string {
	switch code {
	case "upstream_unreachable":
		return "the upstream cannot be reached"
	case "upstream_timeout":
		return "the upstream did not answer in time"
	case "upstream_refused":
		return "the upstream refused the call"
	case "upstream_unauthorized":
		return "the upstream did not accept the gateway's credentials"
	default:
		return "the upstream gave an answer that cannot be read"
	}
}

// write calls a tool whose call must not be made twice: the intent is in the store before. Once begun, the call goes on when its caller
// has left.
func (s *Service) write(ctx context.Context, who Caller, call Call, p prepared) (Report, error) {
	name := call.Request
	if name == "" {
		name = "once:" + approval.NewKey()
	} else if asked, found, err := s.asked(ctx, who, name); found || err != nil {
		// The rules asked for a person when the call was made first.
		if err != nil {
			return Report{}, err
		}
		return s.same(ctx, who, call, p, asked)
	}
	row := store.Direct{
		Name: name, Identity: who.Identity, Address: p.tool.Address, At: s.now(),
		Digest: policy.Digest(p.tool.Address, p.arguments, ""), // the same call, whatever the rules say meanwhile
	}
	report, err := s.flights.join(ctx, idempotency(row)+row.Digest, &s.writes, func(ctx context.Context) (Report, error) {
		return s.once(ctx, who, call, p, row)
	})
	if err != nil && ctx.Err() != nil {
		return s.left(p, row), nil
	}
	return report, err
}

// left is what a caller is told that does not wait for the end.
func (s *Service) left(p prepared, row store.Direct) Report {
	return Report{Status: StatusCompleted, Address: row.Address, Policy: p.policy.Version, Outcome: &approval.Outcome{
		Kind: approval.OutcomeUnknown, Code: "caller_left", Message: "the call was under way when its caller stopped waiting", At: s.now(), Calls: 1,
	}}
}

// idempotency is what is sent upstream: the same for each call of one name, and it tells nobody the name.
func idempotency(row store.Direct) string {
	sum := sha256.Sum256([]byte(row.Identity.Account + "\x00" + row.Identity.Organisation + "\x00" + row.Name))
	return "direct_" + hex.EncodeToString(sum[:16])
}

func (s *Service) once(ctx context.Context, who Caller, call Call, p prepared, row store.Direct) (Report, error) {
	existing, fresh, err := s.intents.begin(ctx, row)
	if err != nil {
		return Report{}, &UnavailableError{What: "store", Err: err}
	}
	if !fresh {
		if report, done, err := s.before(ctx, p, row, existing, s.hold(call.Hold, call.Release)); done || err != nil {
			return report, err
		}
	}
	report, err := s.try(ctx, call, p, idempotency(row))
	var unreached *UnavailableError
	if errors.As(err, &unreached) || err == nil && report.Outcome.Calls == 0 {
		s.settleDirect(ctx, "drop", row, func(ctx context.Context) error {
			_, err := s.store.DropDirect(ctx, row)
			return err
		})
	}
	if err != nil {
		return Report{}, err
	}
	if report.Outcome.Kind == approval.OutcomeCompleted {
		row.DoneAt, row.Result, row.ToolError = s.now(), report.Result, report.Outcome.ToolError
		s.settleDirect(ctx, "finish", row, func(ctx context.Context) error { return s.store.FinishDirect(ctx, row) })
	}
	s.called(who, p, row.At, report)
	return report, nil
}

// settleDirect does not fail the call: what the tool answered is true whether or not it is written down. What is not, is unknown to
// whoever asks under the same name again.
func (s *Service) settleDirect(ctx context.Context, what string, row store.Direct, write func(ctx context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := write(ctx); err != nil {
		s.log.ErrorContext(ctx, "the end of a call is not in the store", "step", what, "address", row.Address, "error", err)
	}
}

// before answers a call whose name was used before: its result, or that nobody knows. done is false where it may be made again.
func (s *Service) before(ctx context.Context, p prepared, row, existing store.Direct, hold hold) (report Report, done bool, err error) {
	if existing.Digest != row.Digest {
		return Report{}, true, otherCall(row.Address)
	}
	if existing.DoneAt.IsZero() && p.tool.Repeatable() {
		return Report{}, false, nil
	}
	existing, fresh, err := s.elsewhere(ctx, row, existing, hold)
	if err != nil || fresh {
		return Report{}, false, err
	}
	report = Report{Status: StatusCompleted, Address: existing.Address, Policy: p.policy.Version}
	if existing.DoneAt.IsZero() {
		report.Outcome = &approval.Outcome{Kind: approval.OutcomeUnknown, Code: "begun", Message: "the call was begun and its end is not known", At: s.now(), Calls: 1}
		return report, true, nil
	}
	report.Result = existing.Result
	report.Outcome = &approval.Outcome{
		Kind: approval.OutcomeCompleted, ToolError: existing.ToolError, At: existing.DoneAt, Calls: 1, Bytes: len(existing.Result),
	}
	return report, true, nil
}

// elsewhere waits for another gateway that may be at the same call now. fresh says that it has given the name back: the tool was not
// reached.
func (s *Service) elsewhere(ctx context.Context, row, existing store.Direct, hold hold) (found store.Direct, fresh bool, err error) {
	now := s.now()
	wait := min(hold.span, existing.At.Add(s.settings.CallTimeout+storeTimeout).Sub(now))
	for end := now.Add(wait); existing.DoneAt.IsZero() && s.now().Before(end); {
		select {
		case <-time.After(directPoll):
		case <-hold.release:
			return existing, false, nil
		case <-s.stop:
			return existing, false, nil
		}
		current, err := s.store.Direct(ctx, row.Identity, row.Name)
		if errors.Is(err, store.ErrNotFound) {
			current, fresh, err = s.intents.begin(ctx, row)
		}
		if err == nil && fresh {
			return current, true, nil
		}
		if err != nil {
			return existing, false, &UnavailableError{What: "store", Err: err}
		}
		existing = current
	}
	return existing, false, nil
}
