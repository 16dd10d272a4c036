package payload

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// Question is a pause that waits, as it is put to a client.
type Question struct {
	Mode approval.Mode
	// ModelMayAnswer says that in model mode the client itself may answer.
	ModelMayAnswer bool
	// Refused says that the client has just tried to answer and may not.
	Refused bool
	Origin  string // of the approval page
	Address string
	// Arguments are canonical and masked.
	Arguments json.RawMessage
	Pause     approval.Pause
}

type waiting struct {
	Status      string      `json:"status"`
	ExecutionID string      `json:"executionId"`
	ExpiresAt   string      `json:"expiresAt,omitempty"`
	TTL         int64       `json:"ttlMs,omitempty"`
	Interaction interaction `json:"interaction"`
	// ApprovalURL is there where a person decides on the page, and not the client.
	ApprovalURL string `json:"approvalUrl,omitempty"`
}

type interaction struct {
	Kind            string          `json:"kind"`
	Message         string          `json:"message"`
	Instructions    string          `json:"instructions"`
	Address         string          `json:"address"`
	Args            json.RawMessage `json:"args"`
	Reason          string          `json:"reason,omitempty"`
	URL             string          `json:"url,omitempty"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
}

type approvalRequired struct {
	Status       string `json:"status"`
	Reason       string `json:"reason,omitempty"`
	ExecutionID  string `json:"executionId"`
	ApprovalURL  string `json:"approvalUrl"`
	ResumePrompt string `json:"resumePrompt"`
	ExpiresAt    string `json:"expiresAt,omitempty"`
	TTL          int64  `json:"ttlMs,omitempty"`
}

var emptySchema = json.RawMessage(`{"type":"object","properties":{}}`)

// Paused tells that a person is asked: as a question that the client answers by resume, or with a link for the person.
func Paused(q Question) Rendered {
	if q.Mode == approval.ModeBrowser || !q.ModelMayAnswer {
		return byPage(q)
	}
	return Detail(q)
}

// Detail is the question whole, as the client in model mode and the approval page's API read it.
func Detail(q Question) Rendered {
	asked := interaction{
		Kind: "form", Message: q.Pause.Request.Message, Instructions: instructions(q), Address: q.Address,
		Args: q.Arguments, Reason: q.Pause.Request.Reason,
	}
	if len(asked.Args) == 0 {
		asked.Args = json.RawMessage("{}")
	}
	switch q.Pause.Request.Kind {
	case approval.KindURL:
		asked.Kind, asked.URL = "url", q.Pause.Request.URL
	default:
		asked.RequestedSchema = q.Pause.Request.Schema
		if len(asked.RequestedSchema) == 0 {
			asked.RequestedSchema = emptySchema
		}
	}
	out := waiting{Status: StatusWaiting, ExecutionID: q.Pause.ID, Interaction: asked}
	lines := []string{"Execution paused: " + asked.Message, "executionId: " + q.Pause.ID}
	if span, at, ok := deadline(q.Pause); ok {
		out.ExpiresAt, out.TTL = at, span.Milliseconds()
		lines = append(lines, fmt.Sprintf("resumeDeadline: %s (%s approval window)", at, TTL(span)))
	}
	if !q.ModelMayAnswer && q.Origin != "" {
		out.ApprovalURL = ApprovalURL(q.Origin, q.Pause.ID)
		lines = append(lines, "approvalUrl: "+out.ApprovalURL)
	}
	lines = append(lines, "address: "+q.Address)
	if asked.Reason != "" {
		lines = append(lines, "asked because of: "+asked.Reason)
	}
	if asked.URL != "" {
		lines = append(lines, "url: "+asked.URL)
	}
	lines = append(lines, "arguments: "+argumentPreview(asked.Args), "", asked.Instructions)
	return Rendered{Text: strings.Join(lines, "\n"), Structured: out}
}

func instructions(q Question) string {
	how, verb := "", "Resume"
	request := q.Pause.Request
	switch {
	case !q.ModelMayAnswer && q.Origin != "":
		how, verb = fmt.Sprintf("A person decides on the page %s.", ApprovalURL(q.Origin, q.Pause.ID)), "Decide"
	case !q.ModelMayAnswer:
		how, verb = "A person decides, on the approval page or by holdfast approval approve "+q.Pause.ID+".", "Decide"
	case request.Kind == approval.KindURL:
		how = fmt.Sprintf("Have the user open the URL and finish there, then call the resume tool with executionId %q and action \"accept\". "+
			"Use \"decline\" or \"cancel\" if they refuse.", q.Pause.ID)
	case hasProperties(request.Schema):
		how = fmt.Sprintf("Collect values that match requestedSchema from the user, then call the resume tool with executionId %q, action \"accept\" "+
			"and the values as a JSON object in content. Use \"decline\" or \"cancel\" if they refuse.", q.Pause.ID)
	default:
		how = fmt.Sprintf("This is a model-side confirmation gate: there are no values to collect and there is no browser form. "+
			"Ask the user, then call the resume tool with executionId %q and action \"accept\", \"decline\" or \"cancel\".", q.Pause.ID)
	}
	if _, at, ok := deadline(q.Pause); ok {
		how += fmt.Sprintf(" %s before %s.", verb, at)
	}
	return how
}

func hasProperties(schema json.RawMessage) bool {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	return json.Unmarshal(schema, &object) == nil && len(object.Properties) > 0
}

func byPage(q Question) Rendered {
	url := ApprovalURL(q.Origin, q.Pause.ID)
	alone := ""
	if q.Mode == approval.ModeModel {
		alone = " and without an action"
	}
	out := approvalRequired{
		Status: StatusApproval, ExecutionID: q.Pause.ID, ApprovalURL: url,
		ResumePrompt: fmt.Sprintf("Show the user this link and wait for them to decide there: %s. Then call the resume tool with executionId %q%s. "+
			"It waits for the decision and gives the result.", url, q.Pause.ID, alone),
	}
	lines := []string{"User approval required: " + q.Pause.Request.Message, "executionId: " + q.Pause.ID, "approvalUrl: " + url}
	if span, at, ok := deadline(q.Pause); ok {
		out.ExpiresAt, out.TTL = at, span.Milliseconds()
		lines = append(lines, fmt.Sprintf("resumeDeadline: %s (%s approval window)", at, TTL(span)))
	}
	if q.Refused {
		out.Reason = "model_may_not_answer"
		lines = append(lines, "", "You may not answer this yourself: the rules ask for a person's decision on the page. Nothing was decided.")
	}
	lines = append(lines, "", out.ResumePrompt)
	return Rendered{Text: strings.Join(lines, "\n"), Structured: out}
}

// ApprovalURL is where a person decides on a pause.
func ApprovalURL(origin, pauseID string) string {
	return strings.TrimSuffix(origin, "/") + "/resume/" + pauseID
}

// deadline is the whole window, however much of it is left, and its end.
func deadline(p approval.Pause) (window time.Duration, at string, ok bool) {
	if p.Deadline.IsZero() {
		return 0, "", false
	}
	return p.Deadline.Sub(p.CreatedAt), p.Deadline.UTC().Format(iso8601), true
}

type pending struct {
	Status       string `json:"status"`
	ExecutionID  string `json:"executionId"`
	ResumePrompt string `json:"resumePrompt"`
}

// Pending tells that the time to wait is over and the execution goes on.
func Pending(key, address string) Rendered {
	id := executionID(key)
	prompt := fmt.Sprintf("Call the resume tool with executionId %q and nothing else to go on waiting and to read the outcome. "+
		"Do not make the call again: it is still under way.", id)
	return Rendered{
		Text:       fmt.Sprintf("Execution of %s goes on: it has no outcome yet.\nexecutionId: %s\n\n%s", address, id, prompt),
		Structured: pending{Status: StatusPending, ExecutionID: id, ResumePrompt: prompt},
	}
}

// Message puts a pause to a person in plain text: what is asked, why, and with which arguments, which are masked.
func Message(address string, request approval.Request, arguments json.RawMessage) string {
	lines := []string{request.Message, "", "address: " + address}
	if request.Reason != "" {
		lines = append(lines, "asked because of: "+request.Reason)
	}
	if len(arguments) > 0 {
		lines = append(lines, "arguments: "+argumentPreview(arguments))
	}
	return strings.Join(lines, "\n")
}

// EmptySchema is the schema of an answer without values.
func EmptySchema() json.RawMessage { return append(json.RawMessage(nil), emptySchema...) }
