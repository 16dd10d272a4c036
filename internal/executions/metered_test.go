package executions_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/telemetry"
)

// recorder is an engine that notes how it is called.
type recorder struct{ said []any }

var errSaid = errors.New("said by the engine")

func (r *recorder) note(method string, args ...any) { r.said = append([]any{method}, args...) }

func (r *recorder) Execute(ctx context.Context, who executions.Caller, call executions.Call) (executions.Report, error) {
	r.note("Execute", ctx, who, call)
	return executions.Report{Key: "k"}, errSaid
}

func (r *recorder) Resume(ctx context.Context, who executions.Caller, answer executions.Answer) (executions.Report, error) {
	r.note("Resume", ctx, who, answer)
	return executions.Report{Key: "k"}, errSaid
}

func (r *recorder) Decide(ctx context.Context, who executions.Caller, answer executions.Answer) (executions.Report, error) {
	r.note("Decide", ctx, who, answer)
	return executions.Report{Key: "k"}, errSaid
}

func (r *recorder) Cancel(ctx context.Context, who executions.Caller, id, reason string) (executions.Report, error) {
	r.note("Cancel", ctx, who, id, reason)
	return executions.Report{Key: "k"}, errSaid
}

func (r *recorder) Lookup(ctx context.Context, who executions.Caller, id string) (executions.Report, error) {
	r.note("Lookup", ctx, who, id)
	return executions.Report{Key: "k"}, errSaid
}

func (r *recorder) Paused(ctx context.Context, who executions.Caller, id string) (store.PauseRow, error) {
	r.note("Paused", ctx, who, id)
	return store.PauseRow{Key: "k"}, errSaid
}

func (r *recorder) PausedCount(ctx context.Context, who executions.Caller) (int, error) {
	r.note("PausedCount", ctx, who)
	return 7, errSaid
}

func (r *recorder) HasPaused(ctx context.Context, who executions.Caller) (bool, error) {
	r.note("HasPaused", ctx, who)
	return true, errSaid
}

func (r *recorder) Settled(ctx context.Context, who executions.Caller, id string) (bool, error) {
	r.note("Settled", ctx, who, id)
	return true, errSaid
}

func meter(t *testing.T) *telemetry.Metrics {
	t.Helper()
	metrics, err := telemetry.NewMetrics(slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return metrics
}

// Each method of the engine, with each of its arguments and each of its results, passes every decorator. New decorators belong into the
// list; new methods are found by themselves.
func TestEveryMethodIsForwardedByEveryDecorator(t *testing.T) {
	t.Parallel()
	decorators := map[string]func(executions.Engine) (executions.Engine, error){
		"Metered": func(e executions.Engine) (executions.Engine, error) {
			return executions.Metered(e, meter(t).Meter("test"))
		},
	}
	engine := reflect.TypeFor[executions.Engine]()
	for name, decorate := range decorators {
		for i := range engine.NumMethod() {
			method := engine.Method(i)
			t.Run(name+"/"+method.Name, func(t *testing.T) {
				t.Parallel()
				inner := &recorder{}
				outer, err := decorate(inner)
				require.NoError(t, err)
				args := []reflect.Value{reflect.ValueOf(t.Context())}
				for n := 1; n < method.Type.NumIn(); n++ {
					args = append(args, filled(method.Type.In(n)))
				}
				got := reflect.ValueOf(outer).MethodByName(method.Name).Call(args)
				said := inner.said
				require.Equal(t, method.Name, said[0])
				for n, arg := range args {
					require.Equal(t, arg.Interface(), said[n+1])
				}
				want := reflect.ValueOf(inner).MethodByName(method.Name).Call(args)
				for n := range want {
					require.Equal(t, want[n].Interface(), got[n].Interface())
				}
			})
		}
	}
}

// filled is a value that is not the zero value of its type.
func filled(of reflect.Type) reflect.Value {
	value := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.String:
		value.SetString("x")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int64:
		value.SetInt(3)
	case reflect.Struct:
		for i := range of.NumField() {
			if field := value.Field(i); field.CanSet() && of.Field(i).IsExported() {
				field.Set(filled(field.Type()))
			}
		}
	default:
	}
	return value
}

// answering gives what it is told.
type answering struct {
	executions.Engine
	report executions.Report
	err    error
}

func (a answering) Execute(context.Context, executions.Caller, executions.Call) (executions.Report, error) {
	return a.report, a.err
}

func (a answering) Resume(context.Context, executions.Caller, executions.Answer) (executions.Report, error) {
	return a.report, a.err
}

func TestOnlyExecuteIsCountedByHowItWasAnswered(t *testing.T) {
	t.Parallel()
	metrics := meter(t)
	for label, each := range map[string]answering{
		"completed": {report: executions.Report{Outcome: &approval.Outcome{Kind: approval.OutcomeCompleted}}},
		"tool_error": {report: executions.Report{Outcome: &approval.Outcome{
			Kind: approval.OutcomeCompleted, ToolError: true,
		}}},
		"outcome_unknown":   {report: executions.Report{Outcome: &approval.Outcome{Kind: approval.OutcomeUnknown}}},
		"paused":            {report: executions.Report{Status: executions.StatusPaused}},
		"pending":           {report: executions.Report{Status: executions.StatusPending}},
		"denied":            {err: &executions.DeniedError{}},
		"tool_not_found":    {err: &executions.UnknownToolError{}},
		"invalid_arguments": {err: &executions.ArgumentsError{}},
		"unavailable":       {err: &executions.UnavailableError{}},
		"internal":          {err: errSaid},
	} {
		engine, err := executions.Metered(each, metrics.Meter("test"))
		require.NoError(t, err)
		_, err = engine.Execute(t.Context(), executions.Caller{}, executions.Call{})
		require.Equal(t, each.err, err)
		_, err = engine.Resume(t.Context(), executions.Caller{}, executions.Answer{})
		require.Equal(t, each.err, err)
		answer := httptest.NewRecorder()
		metrics.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		require.Contains(t, answer.Body.String(), `holdfast_tool_calls_total{outcome="`+label+`"} 1`)
		require.Contains(t, answer.Body.String(), `holdfast_tool_call_seconds_count{outcome="`+label+`"} 1`)
	}
}
