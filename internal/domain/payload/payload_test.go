package payload_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	key     = "0123456789abcdef0123456789abcdef"
	origin  = "https://gate.example"
	address = "github.delete_repo"
)

var created = time.Date(2026, 7, 23, 10, 0, 0, 0, time.UTC)

func pause(request approval.Request, window time.Duration) approval.Pause {
	return approval.Pause{
		ID: approval.PauseID(key, 1), Number: 1, Request: request, CreatedAt: created, Deadline: created.Add(window),
	}
}

func gate(window time.Duration) approval.Pause {
	return pause(approval.Request{Kind: approval.KindGate, Message: "Approve github.delete_repo?", Reason: "annotation: destructive"}, window)
}

func question(mode approval.Mode, p approval.Pause) payload.Question {
	return payload.Question{
		Mode: mode, ModelMayAnswer: mode == approval.ModeModel, Origin: origin, Address: address,
		Arguments: json.RawMessage(`{"name":"alpha","token":"[REDACTED]"}`), Pause: p,
	}
}

func ending(outcome approval.Outcome) payload.Rendered {
	outcome.At = created.Add(time.Minute)
	return payload.Ended(payload.Ending{Key: key, Address: address, Outcome: outcome, Window: 4 * time.Minute})
}

func text(s string) payload.ToolResult {
	block, _ := json.Marshal(map[string]string{"type": "text", "text": s})
	return payload.ToolResult{Content: []json.RawMessage{block}}
}

// ends are all the ways in which a call is answered, each under the name of its golden file.
func ends() map[string]payload.Rendered {
	first := approval.Decision{Action: approval.ActionDecline, By: "token:ops", Name: "Ada", Via: approval.ViaPage, At: created.Add(time.Minute)}
	form := pause(approval.Request{
		Kind: approval.KindForm, Message: "Which branch?", Schema: json.RawMessage(`{"type":"object","properties":{"branch":{"type":"string"}}}`),
	}, 4*time.Minute)
	url := pause(approval.Request{Kind: approval.KindURL, Message: "Sign in first", URL: "https://idp.example/consent"}, 4*time.Minute)
	refused := question(approval.ModeModel, gate(4*time.Minute))
	refused.ModelMayAnswer, refused.Refused = false, true
	byPerson := refused
	byPerson.Refused = false
	elsewhere := byPerson
	elsewhere.Origin = ""
	return map[string]payload.Rendered{
		"completed-text":       payload.Completed(payload.Completion{Result: text("hello\nworld")}),
		"completed-structured": payload.Completed(payload.Completion{Key: key, Result: payload.ToolResult{StructuredContent: json.RawMessage(`{"sum":3}`)}}),
		"completed-nothing":    payload.Completed(payload.Completion{Key: key}),
		"completed-note":       payload.Completed(payload.Completion{Result: text("done"), Note: "the tool asked for something and was told cancel"}),
		"tool-error":           payload.Completed(payload.Completion{Key: key, Result: text("no such repository"), ToolError: true}),
		"failed":               ending(approval.Outcome{Kind: approval.OutcomeFailed, Code: "upstream_refused", Message: "the upstream refused the call"}),
		"declined":             ending(approval.Outcome{Kind: approval.OutcomeDeclined}),
		"cancelled":            ending(approval.Outcome{Kind: approval.OutcomeCancelled}),
		"cancelled-calling":    ending(approval.Outcome{Kind: approval.OutcomeCancelled, Calls: 1}),
		"expired":              ending(approval.Outcome{Kind: approval.OutcomeExpired}),
		"outcome-unknown":      ending(approval.Outcome{Kind: approval.OutcomeUnknown, Code: "worker_lost", Calls: 1}),
		"model-paused-gate":    payload.Paused(question(approval.ModeModel, gate(4*time.Minute))),
		"model-paused-form":    payload.Paused(question(approval.ModeModel, form)),
		"model-paused-url":     payload.Paused(question(approval.ModeModel, url)),
		"model-paused-person":  payload.Paused(byPerson),
		"model-answer-refused": payload.Paused(refused),
		"browser-paused-gate":  payload.Paused(question(approval.ModeBrowser, gate(4*time.Minute))),
		"browser-paused-form":  payload.Paused(question(approval.ModeBrowser, form)),
		"pending":              payload.Pending(key, address),
		"not-found":            payload.NotFound(approval.PauseID(key, 1)),
		"forbidden":            payload.Forbidden(approval.PauseID(key, 1)),
		"already-settled": payload.AlreadySettled(payload.Settlement{
			ID: approval.PauseID(key, 1), Key: key, Decision: first, Outcome: &approval.Outcome{Kind: approval.OutcomeDeclined},
		}),
		"already-settled-running": payload.AlreadySettled(payload.Settlement{ID: approval.PauseID(key, 1), Key: key, Decision: first}),
		"denied":                  payload.Denied(address, "rule 2: github.delete_*"),
		"unknown-tool":            payload.UnknownTool("github.delete_rep", []string{"github.delete_repo"}),
		"bad-arguments":           payload.BadArguments(address, `name: is required`),
		"name-taken":              payload.NameTaken(address),
		"bad-decision":            payload.BadDecision("not a decision: the content is a JSON object"),
		"unavailable":             payload.Unavailable("temporal"),
		"detail-by-page":          payload.Detail(byPerson),
		"detail-without-page":     payload.Detail(elsewhere),
		"unanswered":              payload.Unanswered(approval.PauseID(key, 1)),
		"internal":                payload.Internal("0badcafe"),
	}
}

func fields(t require.TestingT, r payload.Rendered) map[string]any {
	raw, err := json.Marshal(r.Structured)
	require.NoError(t, err)
	var out map[string]any
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

func TestEachModeAndOutcomeIsToldAsItsGoldenFile(t *testing.T) {
	t.Parallel()
	for name, rendered := range ends() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			structured, err := json.MarshalIndent(rendered.Structured, "", "  ")
			require.NoError(t, err)
			got := fmt.Sprintf("isError: %t\n--- structuredContent\n%s\n--- text\n%s\n", rendered.IsError, structured, rendered.Text)
			file := filepath.Join("testdata", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

func TestNoTwoEndsAreToldAlike(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, rendered := range ends() {
		raw, err := json.Marshal(rendered.Structured)
		require.NoError(t, err)
		require.Emptyf(t, seen[rendered.Text], "%s has the text of another", name)
		seen[rendered.Text] = name
		if strings.Contains(name, "-paused-") {
			continue // what is asked is no end: the page tells the link's question
		}
		require.Emptyf(t, seen[string(raw)], "%s has the fields of another", name)
		seen[string(raw)] = name
	}
}

// Whatever message, code or number of calls goes with it, an outcome is recognised by status and reason alone.
func TestAnOutcomeIsRecognisedWhateverGoesWithIt(t *testing.T) {
	t.Parallel()
	kinds := []approval.OutcomeKind{
		approval.OutcomeFailed, approval.OutcomeDeclined, approval.OutcomeCancelled, approval.OutcomeExpired, approval.OutcomeUnknown,
	}
	rapid.Check(t, func(t *rapid.T) {
		tell := func(kind approval.OutcomeKind) string {
			got := payload.Ended(payload.Ending{
				Key: key, Address: rapid.StringMatching(`[a-z]{1,8}\.[a-z]{1,8}`).Draw(t, "address"),
				Outcome: approval.Outcome{
					Kind: kind, Code: rapid.String().Draw(t, "code"), Message: rapid.String().Draw(t, "message"),
					Calls: rapid.IntRange(0, 3).Draw(t, "calls"),
				},
				Reason: rapid.String().Draw(t, "reason"),
			})
			require.True(t, got.IsError)
			f := fields(t, got)
			return fmt.Sprint(f["status"], "/", f["reason"])
		}
		a := rapid.SampledFrom(kinds).Draw(t, "a")
		b := rapid.SampledFrom(kinds).Draw(t, "b")
		require.Equal(t, a == b, tell(a) == tell(b))
	})
}

// case 31
func TestAPauseTellsItsDeadline(t *testing.T) {
	t.Parallel()
	got := payload.Paused(question(approval.ModeModel, gate(time.Minute)))
	f := fields(t, got)
	require.InEpsilon(t, 60000, f["ttlMs"], 0)
	at, err := time.Parse(time.RFC3339, f["expiresAt"].(string))
	require.NoError(t, err)
	require.Equal(t, created.Add(time.Minute), at.UTC())
	require.Contains(t, got.Text, "resumeDeadline: 2026-07-23T10:01:00.000Z (1 minute approval window)")
	require.Contains(t, f["interaction"].(map[string]any)["instructions"], "Resume before")
}

// case 32
func TestAPauseWithoutADeadlineTellsNone(t *testing.T) {
	t.Parallel()
	p := gate(0)
	p.Deadline = time.Time{}
	for _, mode := range []approval.Mode{approval.ModeModel, approval.ModeBrowser} {
		got := payload.Paused(question(mode, p))
		require.NotContains(t, fields(t, got), "expiresAt")
		require.NotContains(t, fields(t, got), "ttlMs")
		require.NotContains(t, got.Text, "resumeDeadline")
		require.NotContains(t, got.Text, "Resume before")
	}
}

// cases 33 and 34
func TestInstructionsFitWhatIsAsked(t *testing.T) {
	t.Parallel()
	url := fields(t, ends()["model-paused-url"])["interaction"].(map[string]any)
	require.Equal(t, "url", url["kind"])
	require.Equal(t, "https://idp.example/consent", url["url"])
	gated := fields(t, ends()["model-paused-gate"])["interaction"].(map[string]any)
	require.Contains(t, gated["instructions"], "confirmation gate")
	require.Contains(t, gated["instructions"], `"accept"`)
	form := fields(t, ends()["model-paused-form"])["interaction"].(map[string]any)
	require.Contains(t, form["instructions"], "match requestedSchema")
}

// cases 35 and 44
func TestInBrowserModeAPersonGetsALinkAndTheModelNoQuestion(t *testing.T) {
	t.Parallel()
	f := fields(t, ends()["browser-paused-gate"])
	require.Equal(t, "user_approval_required", f["status"])
	require.NotContains(t, f, "interaction")
	require.Equal(t, origin+"/resume/"+approval.PauseID(key, 1), f["approvalUrl"])
	require.Contains(t, ends()["browser-paused-gate"].Text, f["approvalUrl"])
}

func TestSpansOfTimeInWords(t *testing.T) {
	t.Parallel()
	for span, want := range map[time.Duration]string{
		4 * time.Minute: "4 minutes", time.Minute: "1 minute", 90 * time.Second: "90 seconds", time.Millisecond: "1 second",
		1499 * time.Millisecond: "1 second", 59700 * time.Millisecond: "1 minute",
		2 * time.Hour: "120 minutes", 3 * time.Hour: "3 hours", 24 * time.Hour: "24 hours", 25*time.Hour + time.Minute: "1501 minutes",
		72 * time.Hour: "3 days", 73 * time.Hour: "73 hours",
	} {
		require.Equal(t, want, payload.TTL(span))
	}
}

func TestALongTextIsToldOnceAndItsPreviewSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	got := payload.Completed(payload.Completion{Result: text(strings.Repeat("ä", 30_007))})
	require.True(t, strings.HasSuffix(got.Text, "ä... [truncated 7 chars]"))
	require.Nil(t, fields(t, got)["result"])
	require.Contains(t, fields(t, got), "result")

	q := question(approval.ModeModel, gate(time.Minute))
	q.Arguments = json.RawMessage(`{"a":"` + strings.Repeat("x", 5000) + `"}`)
	paused := payload.Paused(q)
	require.Contains(t, paused.Text, "xxx...\n")
	require.Less(t, len(paused.Text), 5500)
	raw, err := json.Marshal(paused.Structured)
	require.NoError(t, err)
	require.True(t, bytes.Contains(raw, bytes.Repeat([]byte("x"), 5000)), "the fields have the arguments whole")
}
