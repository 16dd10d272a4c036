package executions

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/execution"
)

// target is the execution, and the pause (0: none is named), that a caller means.
type target struct {
	row    store.Execution
	number int
}

// find reads what an id means. other is the error for an execution of somebody else's.
func (s *Service) find(ctx context.Context, who Caller, id string, other error) (target, error) {
	key, number, err := approval.ParseID(id)
	if err != nil {
		return target{}, &NotFoundError{ID: id}
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	row, err := s.store.Execution(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return target{}, &NotFoundError{ID: id}
	case err != nil:
		return target{}, &UnavailableError{What: "store", Err: err}
	case !who.mayAct(row.Identity):
		return target{}, other
	case row.Outcome != nil && !row.Retained.IsZero() && !s.now().Before(row.Retained):
		return target{}, &NotFoundError{ID: id}
	}
	return target{row: row, number: number}, nil
}

// mayAct holds for the identity itself, and for operators of its organisation; whoever comes by MCP is no operator.
func (c Caller) mayAct(owner approval.Identity) bool {
	return c.Identity == owner || c.Operator && c.Via != viaMCP && c.Identity.Organisation == owner.Organisation
}

const viaMCP = "mcp"

// Resume implements [Engine].
func (s *Service) Resume(ctx context.Context, who Caller, answer Answer) (Report, error) {
	at, err := s.find(ctx, who, answer.ID, &ForbiddenError{ID: answer.ID})
	if err != nil {
		return Report{}, err
	}
	hold := s.hold(answer.Hold, answer.Release)
	if answer.Action == "" {
		return s.attach(ctx, who, at, hold)
	}
	said, err := s.answer(ctx, who, at, answer)
	if err != nil {
		return Report{}, err
	}
	switch {
	case said.refused != nil:
		return *said.refused, nil
	case said.conflict != nil:
		report, err := s.follow(ctx, who, at.row, said.pause.Number, oneLook)
		report.Conflict, report.Pause = said.conflict, &said.pause
		return report, err
	case said.pause.Expired && said.pause.Request.Kind == approval.KindGate:
		return s.expired(at.row, said.pause), nil
	}
	report, err := s.attach(ctx, who, target{row: at.row, number: said.pause.Number}, hold)
	if said.pause.Expired && report.Status == StatusCompleted {
		report.Pause = &said.pause // the answer came too late for what the tool had asked
	}
	return report, err
}

// attach waits for what follows from a pause, or from where the execution is.
func (s *Service) attach(ctx context.Context, who Caller, at target, hold hold) (Report, error) {
	if at.row.Outcome == nil {
		report, err := s.follow(ctx, who, at.row, at.number, hold)
		unseen := hold.span > 0 && (report.Status == StatusPending || report.Status == StatusPaused && at.number != 0)
		if err == nil && ctx.Err() == nil && (unseen || s.overdue(report)) {
			report = s.cutOff(ctx, who, at, report)
		}
		return report, err
	}
	report, err := s.report(ctx, who, at.row, steps{outcome: true}, 0)
	if errors.Is(err, store.ErrNotFound) {
		err = &NotFoundError{ID: approval.PauseID(at.row.Key, max(1, at.number))} // retained no more, just now
	}
	return report, err
}

// overdue reports whether a pause waits beyond its deadline: a run that lives ends it.
func (s *Service) overdue(report Report) bool {
	return report.Status == StatusPaused && report.Pause != nil && !s.now().Before(report.Pause.Deadline)
}

// cutOff asks Temporal whether the run is gone without having written down its end, and closes the execution then.
func (s *Service) cutOff(ctx context.Context, who Caller, at target, report Report) Report {
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if gone, err := s.lost(limited, who, at.row, s.abandoned(at.row)); err != nil || !gone {
		return report
	}
	if now, err := s.report(ctx, who, at.row, steps{outcome: true}, 0); err == nil {
		return now
	}
	return report
}

// expired is told as soon as the deadline is over, whether or not the run has written its outcome.
func (s *Service) expired(row store.Execution, pause approval.Pause) Report {
	report := s.unseen(row)
	report.Status, report.Pause = StatusCompleted, &pause
	report.Outcome = &approval.Outcome{Kind: approval.OutcomeExpired, At: pause.Deadline}
	return report
}

// said is what became of an answer.
type said struct {
	pause    approval.Pause
	conflict *approval.Decision
	refused  *Report // the caller may not answer; nothing was decided
}

// answer decides on the pause that is meant: the one named, or the only one that waits.
func (s *Service) answer(ctx context.Context, who Caller, at target, answer Answer) (said, error) {
	wish := approval.Decision{
		Action: answer.Action, Content: answer.Content, By: who.Principal, Name: who.Name, Via: who.via(), Reason: answer.Reason, At: s.now(),
	}
	if err := wish.Check(); err != nil {
		return said{}, err
	}
	row, err := s.pause(ctx, at)
	if errors.Is(err, store.ErrNotFound) && at.number == 0 {
		return said{}, nil // nothing is asked: attach
	}
	if errors.Is(err, store.ErrNotFound) {
		return said{}, &NotFoundError{ID: answer.ID}
	}
	if err != nil {
		return said{}, err
	}
	if row.Open() && who.Via == viaMCP && !s.modelMayAnswer(ctx, who, at.row) {
		report := s.unseen(at.row)
		report.Status, report.Pause, report.Arguments, report.Refused = StatusPaused, &row.Pause, s.masked(ctx, at.row), true
		return said{refused: &report}, nil
	}
	if !row.Open() {
		return judged(row.Pause, wish), nil
	}
	if err := s.deniedSince(ctx, at.row, row.Pause, wish); err != nil {
		return said{}, err
	}
	if err := fits(row.Pause, wish); err != nil {
		return said{}, err
	}
	return s.decide(ctx, who, target{at.row, row.Number}, wish)
}

// deniedSince refuses a yes to a call that the rules have come to deny while it waited. Whoever wants may still say no.
func (s *Service) deniedSince(ctx context.Context, row store.Execution, pause approval.Pause, wish approval.Decision) error {
	if wish.Action != approval.ActionAccept || pause.Request.Kind != approval.KindGate {
		return nil
	}
	// A denial is by address and account alone: it holds also where the tool cannot be looked up just now.
	verdict := s.policy(ctx).Judge(row.Identity.Account, catalog.Tool{Address: row.Address})
	if verdict.Effect != policy.Deny {
		return nil
	}
	return &DeniedError{Address: row.Address, Rule: verdict.Reason}
}

// fits refuses values that are not as the tool asks for them: it would fail over them, and nobody could answer again.
func fits(pause approval.Pause, wish approval.Decision) error {
	if wish.Action != approval.ActionAccept || pause.Request.Kind != approval.KindForm || len(pause.Request.Schema) == 0 {
		return nil
	}
	if err := catalog.Fits(pause.Request.Schema, wish.Content); err != nil {
		return fmt.Errorf("%w: the content does not fit what the tool asks for: %w", approval.ErrBadDecision, err)
	}
	return nil
}

func (c Caller) via() approval.Via {
	if c.Via == viaMCP {
		return approval.ViaModel
	}
	return approval.Via(c.Via)
}

// pause reads the pause that is meant.
func (s *Service) pause(ctx context.Context, at target) (store.PauseRow, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if at.number == 0 {
		events, err := s.store.ExecutionEvents(ctx, at.row.Key, 0)
		if err != nil {
			return store.PauseRow{}, storeFailed(err)
		}
		if at.number = (steps{}).fold(events).first(0); at.number == 0 {
			return store.PauseRow{}, store.ErrNotFound
		}
	}
	row, err := s.store.Pause(ctx, approval.PauseID(at.row.Key, at.number))
	if err != nil {
		return store.PauseRow{}, storeFailed(err)
	}
	return row, nil
}

// decide asks the run, which alone decides. Where that has ended the store knows.
func (s *Service) decide(ctx context.Context, who Caller, at target, wish approval.Decision) (said, error) {
	asking, cancel := context.WithTimeout(ctx, temporalTimeout)
	defer cancel()
	resumed, err := s.workflows.Resume(asking, at.row.Identity, execution.Resume{
		PauseID: approval.PauseID(at.row.Key, at.number), Decision: wish,
	})
	if errors.Is(err, execution.ErrNotFound) {
		return s.tooLate(ctx, who, at, wish)
	}
	if err != nil && asking.Err() != nil {
		return said{}, &UnansweredError{ID: approval.PauseID(at.row.Key, at.number), Err: err}
	}
	if err != nil {
		return said{}, &UnavailableError{What: "temporal", Err: err}
	}
	out := said{pause: resumed.Pause}
	if resumed.Verdict == execution.VerdictConflict {
		out.conflict = resumed.Pause.Decision
	}
	return out, nil
}

// tooLate tells what became of a pause of which no run knows. One that still waits in the store is closed with its execution.
func (s *Service) tooLate(ctx context.Context, who Caller, at target, wish approval.Decision) (said, error) {
	ended, err := s.pause(ctx, at)
	if err != nil || !ended.Open() {
		return judged(ended.Pause, wish), err
	}
	if _, err := s.lost(ctx, who, at.row, s.abandoned(at.row)); err != nil {
		return said{}, err
	}
	if ended, err = s.pause(ctx, at); err != nil {
		return said{}, err
	}
	if ended.Open() { // the run goes on, and comes to this question again
		return said{}, &UnavailableError{What: "temporal", Err: execution.ErrNotFound}
	}
	return judged(ended.Pause, wish), nil
}

func judged(pause approval.Pause, wish approval.Decision) said {
	out := said{pause: pause}
	if verdict, _ := pause.Judge(wish); verdict == approval.VerdictConflict {
		out.conflict = pause.Decision
	}
	return out
}
