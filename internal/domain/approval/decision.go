package approval

import (
	"encoding/json"
	"time"
)

// Action is what was decided on a pause.
type Action string

// What may be decided.
const (
	ActionAccept  Action = "accept"
	ActionDecline Action = "decline"
	ActionCancel  Action = "cancel"
)

// Valid reports whether an action is one that a caller may ask for.
func (a Action) Valid() bool {
	switch a {
	case ActionAccept, ActionDecline, ActionCancel:
		return true
	default:
		return false
	}
}

// Via is the way by which a decision came.
type Via string

// The ways by which decisions come.
const (
	ViaPage  Via = "page"
	ViaAPI   Via = "api"
	ViaCLI   Via = "cli"
	ViaModel Via = "model" // the client's own call of resume
)

// Decision is the one answer to a pause. Its deadline is not a decision: see [Pause].Expired.
type Decision struct {
	Action  Action          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"` // an object; only with accept
	By      string          `json:"by"`                // the principal's id
	Name    string          `json:"name,omitempty"`    // and how it is called
	Via     Via             `json:"via"`
	Reason  string          `json:"reason,omitempty"` // in the approver's words, at most 1,000 characters
	At      time.Time       `json:"at"`
}

// Kind is what kind of answer a pause asks for.
type Kind string

// The kinds of questions.
const (
	KindGate Kind = "gate" // a rule or an annotation: yes or no
	KindForm Kind = "form" // the tool asks for values
	KindURL  Kind = "url"  // the tool sends the person to a page
)

// Request is what a pause asks.
type Request struct {
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
	// Reason says why a gate is there: "rule 2: github.*", "annotation: destructive".
	Reason string          `json:"reason,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"` // of the content; of a gate: nil
	URL    string          `json:"url,omitempty"`
	// Elicitation is the tool's own id of a URL request.
	Elicitation string `json:"elicitation,omitempty"`
}

// Pause is one question to a person. Either Decision is set, or Expired, or Dropped, or none of them: it waits.
type Pause struct {
	ID        string    `json:"id"`
	Number    int       `json:"number"` // from 1
	Request   Request   `json:"request"`
	CreatedAt time.Time `json:"createdAt"`
	Deadline  time.Time `json:"deadline"`
	Decision  *Decision `json:"decision,omitempty"`
	Expired   bool      `json:"expired,omitempty"`
	// Dropped says that the run ended before anybody answered.
	Dropped bool `json:"dropped,omitempty"`
}

// Open reports whether a pause still waits.
func (p Pause) Open() bool { return p.Decision == nil && !p.Expired && !p.Dropped }
