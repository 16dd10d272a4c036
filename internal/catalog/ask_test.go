package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/simulator/upstream"
)

type elicit func(context.Context, approval.Request) (approval.Decision, error)

// accepting answers every question with a value.
func accepting(value string) elicit {
	return func(context.Context, approval.Request) (approval.Decision, error) {
		return approval.Decision{Action: approval.ActionAccept, Content: json.RawMessage(fmt.Sprintf(`{"value":%q}`, value))}, nil
	}
}

func ask(t *testing.T, sources *catalog.Sources, tool string, answer elicit) (catalog.CallResult, error) {
	t.Helper()
	return sources.Call(t.Context(), catalog.CallRequest{Address: "up." + tool, Elicit: answer})
}

// eras are the servers of both protocols.
var eras = map[string]upstream.Options{"legacy": {}, "modern": {Stateless: true}}

// case 24
func TestAToolMayAskTwice(t *testing.T) {
	t.Parallel()
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			sources := open(t, start(t, options))
			var asked []approval.Request
			result, err := ask(t, sources, upstream.AskTwice, func(ctx context.Context, r approval.Request) (approval.Decision, error) {
				asked = append(asked, r)
				return accepting([]string{"Ada", "green"}[len(asked)-1])(ctx, r)
			})
			require.NoError(t, err)
			require.Equal(t, "Ada likes green", textOf(t, result))
			require.False(t, result.Unanswered)
			require.Len(t, asked, 2)
			require.Equal(t, approval.KindForm, asked[0].Kind)
			require.Equal(t, "What name?", asked[0].Message)
			require.JSONEq(t, `{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}`, string(asked[1].Schema))
		})
	}
}

// case 33
func TestAToolMaySendItsCallerToAPage(t *testing.T) {
	t.Parallel()
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			sources := open(t, start(t, options))
			var asked approval.Request
			result, err := ask(t, sources, upstream.AskURL, func(_ context.Context, r approval.Request) (approval.Decision, error) {
				asked = r
				return approval.Decision{Action: approval.ActionAccept}, nil
			})
			require.NoError(t, err)
			require.Equal(t, "page: accept", textOf(t, result))
			require.Equal(t, approval.Request{
				Kind: approval.KindURL, Message: "Authorize the upstream.", URL: upstream.PageURL, Elicitation: "authorize-1",
			}, asked)
		})
	}
}

func TestARefusalThatNamesAPageIsRepeatedOnceItWasVisited(t *testing.T) {
	t.Parallel()
	server := start(t, upstream.Options{})
	sources := open(t, server)
	calls := 0
	server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
		if method != "tools/call" {
			return false
		}
		if calls++; calls > 1 {
			answer(w, r, `"result":{"content":[{"type":"text","text":"welcome"}]}`)
			return true
		}
		answer(w, r, `"error":{"code":-32042,"message":"log in","data":{"elicitations":[`+
			`{"mode":"url","message":"Log in.","url":"https://x.example/","elicitationId":"e"}]}}`)
		return true
	})
	var asked approval.Request
	result, err := ask(t, sources, upstream.Put, func(_ context.Context, r approval.Request) (approval.Decision, error) {
		asked = r
		return approval.Decision{Action: approval.ActionAccept}, nil
	})
	require.NoError(t, err)
	require.Equal(t, "welcome", textOf(t, result))
	require.Equal(t, "https://x.example/", asked.URL)

	calls = 0
	_, err = ask(t, sources, upstream.Put, func(context.Context, approval.Request) (approval.Decision, error) {
		return approval.Decision{Action: approval.ActionDecline}, nil
	})
	var failed *catalog.CallError
	require.ErrorAs(t, err, &failed)
	require.True(t, failed.Answered)
	require.Equal(t, "log in", failed.Message)
	require.Equal(t, 1, calls)
}

func TestNobodyIsSentToWhatIsNoPageOfTheWeb(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "//x.example/", "https:", "no page", ""} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			server := start(t, upstream.Options{})
			sources := open(t, server)
			server.Intercept(func(method string, w http.ResponseWriter, r *http.Request) bool {
				if method == "tools/call" {
					answer(w, r, fmt.Sprintf(`"error":{"code":-32042,"message":"log in","data":{"elicitations":[`+
						`{"mode":"url","message":"Log in.","url":%q,"elicitationId":"e"}]}}`, page))
					return true
				}
				return false
			})
			asked := false
			_, err := ask(t, sources, upstream.Put, func(context.Context, approval.Request) (approval.Decision, error) {
				asked = true
				return approval.Decision{Action: approval.ActionAccept}, nil
			})
			var failed *catalog.CallError
			require.ErrorAs(t, err, &failed)
			require.True(t, failed.Answered)
			require.False(t, asked)
		})
	}
}

func TestDeclineAndCancelReachTheTool(t *testing.T) {
	t.Parallel()
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			server := start(t, options)
			sources := open(t, server)
			for _, action := range []approval.Action{approval.ActionDecline, approval.ActionCancel} {
				result, err := ask(t, sources, upstream.AskTwice, func(context.Context, approval.Request) (approval.Decision, error) {
					return approval.Decision{Action: action}, nil
				})
				require.NoError(t, err)
				require.Equal(t, "name: "+string(action), textOf(t, result))
			}
			require.Empty(t, server.Counts().Effects)
		})
	}
}

func TestWhereNobodyCanBeAskedTheToolIsToldCancelAndTheResultSaysSo(t *testing.T) {
	t.Parallel()
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			sources := open(t, start(t, options))
			result, err := ask(t, sources, upstream.AskTwice, nil)
			require.NoError(t, err)
			require.Equal(t, "name: cancel", textOf(t, result))
			require.True(t, result.Unanswered)
			require.False(t, call(t, sources, upstream.Put, map[string]any{"name": "a"}).Unanswered)
		})
	}
}

func TestAnErrorOfTheAskerEndsTheQuestion(t *testing.T) {
	t.Parallel()
	sources := open(t, start(t, upstream.Options{}))
	_, err := ask(t, sources, upstream.AskTwice, func(context.Context, approval.Request) (approval.Decision, error) {
		return approval.Decision{}, errors.New("s3cr3t")
	})
	var failed *catalog.CallError
	require.ErrorAs(t, err, &failed)
	require.True(t, failed.Answered, "the tool was told, and refuses")
	require.NotContains(t, failed.Message+failed.Cause.Error(), "s3cr3t")
}

func TestQuestionsOfCallsAtTheSameTimeReachTheirOwnCallers(t *testing.T) {
	t.Parallel()
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			sources := open(t, start(t, options))
			const callers = 12
			all := make(chan struct{}) // closed when every call has asked its first question
			var waiting sync.WaitGroup
			waiting.Add(callers)
			go func() {
				waiting.Wait()
				close(all)
			}()
			var calls sync.WaitGroup
			texts := make([]string, callers)
			faults := make([]error, callers)
			for n := range callers {
				calls.Go(func() {
					first := true
					result, err := ask(t, sources, upstream.AskTwice, func(ctx context.Context, r approval.Request) (approval.Decision, error) {
						if first {
							first = false
							waiting.Done()
						}
						<-all
						return accepting(fmt.Sprintf("%d", n))(ctx, r)
					})
					if faults[n] = err; err == nil {
						texts[n] = textOf(t, result)
					}
				})
			}
			calls.Wait()
			require.NoError(t, errors.Join(faults...))
			for n, text := range texts {
				require.Equal(t, fmt.Sprintf("%d likes %d", n, n), text)
			}
		})
	}
}

func TestTheTimeOfAPersonIsNotTheTools(t *testing.T) {
	t.Parallel()
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			server := start(t, options)
			const limit = 3 * time.Second
			sources := openFile(t, fmt.Sprintf(`{"mcpServers":{"up":{"url":%q,"timeout":%q}}}`, server.URL(), limit), nil)
			require.NoError(t, sources.Refresh(t.Context(), "up"))
			result, err := ask(t, sources, upstream.AskURL, func(ctx context.Context, _ approval.Request) (approval.Decision, error) {
				late := time.NewTimer(limit + time.Second)
				defer late.Stop()
				select {
				case <-late.C:
					return approval.Decision{Action: approval.ActionAccept}, nil
				case <-ctx.Done():
					return approval.Decision{}, ctx.Err()
				}
			})
			require.NoError(t, err)
			require.Equal(t, "page: accept", textOf(t, result))
		})
	}
}
