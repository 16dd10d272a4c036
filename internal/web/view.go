package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
	"github.com/holdfast-mcp/holdfast/internal/domain/text"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Where a pause is, as its page shows it.
const (
	statePending = "pending" // it can be decided on
	stateDecided = "decided"
	stateExpired = "expired"
	stateDropped = "dropped" // the run ended before
)

const (
	maxResult = 4000 // characters of a result that are shown
	shortID   = 20   // characters of an id that are shown
)

// pauseView is a pause as people see it.
type pauseView struct {
	ID, Key, Short  string
	Address         string
	Source, Tool    string
	Client, Asker   string
	Account         string
	Session, Policy string
	Kind            approval.Kind
	Message, Reason string
	URL, Host       string // of a page that the tool sends the person to
	Linked          bool   // the URL is one that may be followed
	CreatedAt       time.Time
	Deadline        time.Time
	Window          time.Duration

	State    string
	Mine     bool // it was asked for by the visitor's own identity
	Decision *decisionView
	Wanted   string // what the visitor wanted and did not get, in words
	Outcome  *outcomeView
	Next     string // the id of another pause of the same execution, that waits
	Prompt   string // what to tell the client
	Final    bool   // nothing will change any more
}

// decisionView is the decision that counts.
type decisionView struct {
	Action, Done string // accept; approved
	By, Via      string
	Reason       string
	At           time.Time
	Took         time.Duration
}

// outcomeView is how the execution ended.
type outcomeView struct {
	Kind        approval.OutcomeKind
	Class       string // good, bad, or empty
	Show        bool   // it says more than the pause does
	Title, Text string
	Result      string
	Cut         bool // the result is longer than what is shown
}

// seen is what is known of a pause.
type seen struct {
	row    store.PauseRow
	report executions.Report
}

func (w *Web) view(s seen, who auth.Principal) pauseView {
	row, request := s.row, s.row.Request
	source, tool, _ := strings.Cut(row.Address, ".")
	view := pauseView{
		ID: row.ID, Key: row.Key, Short: shorten(row.ID), Address: row.Address, Source: source, Tool: tool, Client: row.Client,
		Account: row.Identity.Account, Session: shorten(row.Session), Policy: shorten(row.Policy), Kind: request.Kind,
		Message: request.Message, Reason: request.Reason, CreatedAt: row.CreatedAt, Deadline: row.Deadline,
		Window: row.Deadline.Sub(row.CreatedAt), Mine: row.Identity == who.Identity,
	}
	if view.Message == executions.GateMessage(row.Address) {
		view.Message = "" // the address says it
	}
	if request.Kind == approval.KindURL {
		view.URL = request.URL
		view.Host, view.Linked = hostOf(request.URL)
	}
	view.State = stateOf(row.Pause, w.Now())
	view.Outcome = outcomeOf(s.report)
	if d := row.Decision; d != nil {
		view.Decision = &decisionView{
			Action: string(d.Action), Done: done(d.Action), By: cmp.Or(d.Name, d.By), Via: viaWords(d.Via), Reason: d.Reason, At: d.At,
			Took: d.At.Sub(row.CreatedAt),
		}
		view.Prompt = prompt(d.Action, row.ID)
	}
	if other := s.report.Pause; other != nil && other.ID != row.ID && other.Open() {
		view.Next = other.ID
	}
	view.Final = view.State != statePending && view.Outcome != nil
	return view
}

// stateOf takes a pause for expired from its deadline on, whether or not that has been written.
func stateOf(p approval.Pause, now time.Time) string {
	switch {
	case p.Decision != nil:
		return stateDecided
	case p.Dropped:
		return stateDropped
	case p.Expired || !now.Before(p.Deadline):
		return stateExpired
	default:
		return statePending
	}
}

func done(a approval.Action) string {
	switch a {
	case approval.ActionAccept:
		return "approved"
	case approval.ActionDecline:
		return "declined"
	default:
		return "cancelled"
	}
}

func viaWords(via approval.Via) string {
	switch via {
	case approval.ViaPage:
		return "on the page"
	case approval.ViaAPI:
		return "by the API"
	case approval.ViaCLI:
		return "by the command line"
	case approval.ViaModel:
		return "by the client itself"
	default:
		return "by " + string(via)
	}
}

// prompt is what the person tells the client, which may not be waiting any more.
func prompt(a approval.Action, id string) string {
	what := map[approval.Action]string{
		approval.ActionAccept: "I've approved it.", approval.ActionDecline: "I've declined it.", approval.ActionCancel: "I've cancelled it.",
	}[a]
	return what + ` Call resume with executionId "` + id + `" to go on.`
}

func shorten(id string) string {
	if len(id) <= shortID {
		return id
	}
	return id[:shortID] + "…"
}

// hostOf is where a URL leads, as it is sent over the wire, and whether it is one that a browser may follow from here.
func hostOf(address string) (string, bool) {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" || parsed.Scheme != "https" && parsed.Scheme != "http" {
		return "", false
	}
	host, err := idna.Lookup.ToASCII(parsed.Hostname())
	if err != nil {
		host = parsed.Hostname()
	}
	if port := parsed.Port(); port != "" {
		host += ":" + port
	}
	return host, parsed.User == nil // a name in front of the host is there to mislead
}

// pretty writes arguments in lines, digit by digit as they are, with what is not seen made visible.
func pretty(arguments json.RawMessage) string {
	return text.Visible(cmp.Or(indented(arguments), "{}"))
}

// indented is JSON in lines; empty where it is none.
func indented(value json.RawMessage) string {
	var out bytes.Buffer
	if len(value) == 0 || json.Indent(&out, value, "", "  ") != nil {
		return ""
	}
	return out.String()
}

func outcomeOf(r executions.Report) *outcomeView {
	o := r.Outcome
	if o == nil {
		return nil
	}
	view := &outcomeView{Kind: o.Kind, Title: outcomeTitle(*o), Show: o.Kind != approval.OutcomeExpired}
	switch o.Kind {
	case approval.OutcomeCompleted:
		view.Class = "good"
		if o.ToolError {
			view.Class = "bad"
		}
		view.Result, view.Cut = resultText(r.Result)
	case approval.OutcomeFailed:
		view.Class, view.Text = "bad", cmp.Or(redact.String(o.Message), o.Code)
	case approval.OutcomeUnknown:
		view.Class = "bad"
		view.Text = "The connection was lost after the call had begun. It is not made again by itself: find out whether it took effect before you ask for it again."
	case approval.OutcomeCancelled:
		if o.Calls > 0 {
			view.Text = "The tool was being called: what it did by then is not undone."
		}
	default:
	}
	return view
}

func outcomeTitle(o approval.Outcome) string {
	switch o.Kind {
	case approval.OutcomeCompleted:
		if o.ToolError {
			return "The tool ran and answered with an error"
		}
		return "The tool ran and answered"
	case approval.OutcomeFailed:
		return "The call failed"
	case approval.OutcomeDeclined:
		return "Declined: the tool was not called"
	case approval.OutcomeCancelled:
		if o.Calls == 0 {
			return "Called off: the tool was not called"
		}
		return "Called off"
	case approval.OutcomeExpired:
		return "Expired: the tool was not called"
	case approval.OutcomeUnknown:
		return "It may have run"
	default:
		return string(o.Kind)
	}
}

// resultText is the text of a tool's result, without what looks like a secret.
func resultText(result json.RawMessage) (text string, cut bool) {
	var answer struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
	}
	if len(result) == 0 || json.Unmarshal(result, &answer) != nil {
		return "", false
	}
	// Not the whole of it: what is far beyond what is shown need not be looked through.
	const enough = 4 * maxResult
	var whole strings.Builder
	for _, block := range answer.Content {
		part := "(" + cmp.Or(block.Type, "something") + ")"
		if block.Type == "text" {
			part = strings.TrimSpace(block.Text)
		}
		cut = cut || len(part) > enough
		whole.WriteString(part[:min(len(part), enough)] + "\n")
		if cut = cut || whole.Len() > enough; cut {
			break
		}
	}
	text = strings.TrimSpace(whole.String())
	if text == "" {
		text, cut = indented(answer.Structured), false
	}
	cut = cut || len(text) > enough
	text = redact.String(strings.ToValidUTF8(text[:min(len(text), enough)], ""))
	if runes := []rune(text); len(runes) > maxResult {
		text, cut = string(runes[:maxResult]), true
	}
	return text, cut
}
