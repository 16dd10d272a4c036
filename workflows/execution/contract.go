package execution

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// WorkflowName is the workflow's type. Like all names here it is part of recorded histories and of what users type.
const WorkflowName = "execution"

// Updates. Each answers as soon as what it asks for is recorded; none waits for the run.
const (
	// UpdateResume decides on a pause.
	UpdateResume = "resume"
	// UpdateAsk opens a pause for a tool that asks while it is called.
	UpdateAsk = "ask"
	// UpdateCancel calls the execution off. A call that has begun is not undone.
	UpdateCancel = "cancel"
)

// Queries. They also work on closed runs.
const (
	QuerySnapshot = "snapshot"
	QueryPauses   = "pauses"
	QueryOutcome  = "outcome"
)

const idPrefix = WorkflowName + ":"

// ID is the workflow id of an execution's key.
func ID(key string) string { return idPrefix + key }

// ParseID reads the key back.
func ParseID(id string) (key string, ok bool) { return strings.CutPrefix(id, idPrefix) }

// ResumeUpdateID is the id of the update that decides on a pause for an identity: the server answers whoever knows it, so the caller
// has compared identities before.
func ResumeUpdateID(pauseID string, who approval.Identity) string {
	sum := sha256.Sum256([]byte(who.Account + "\x00" + who.Organisation))
	return pauseID + "/" + hex.EncodeToString(sum[:8])
}

// Input starts an execution. The arguments are in the store, in the execution's row, and so is the tool's answer: neither is in history.
type Input struct {
	Key      string            `json:"key"`
	Identity approval.Identity `json:"identity"`
	Session  string            `json:"session,omitempty"`
	Mode     approval.Mode     `json:"mode"`
	Address  string            `json:"address"`
	Digest   string            `json:"digest"`
	Policy   string            `json:"policy"`
	// Gate is what a person is asked before the call; nil: nothing.
	Gate *approval.Request `json:"gate,omitempty"`
	// Window is how long a pause may wait; 1 s to 30 days.
	Window time.Duration `json:"window"`
	// Retry says that a call that may have run may be made again: the tool is read-only, idempotent, or honours our key.
	Retry bool `json:"retry,omitempty"`
	// CallTimeout bounds one try of the call, with the person's time for what the tool itself asks left out.
	CallTimeout time.Duration `json:"callTimeout"`
	// AutoApprove answers each pause with accept. It never passes a deny.
	AutoApprove bool `json:"autoApprove,omitempty"`
	// AskedBy is the principal's id, for the audit.
	AskedBy string `json:"askedBy,omitempty"`
}

// Resume is the input of [UpdateResume].
type Resume struct {
	PauseID  string            `json:"pauseId"`
	Decision approval.Decision `json:"decision"` // the workflow sets its time
}

// Verdict says what became of a wish to decide.
type Verdict = approval.Verdict

// The verdicts.
const (
	VerdictDecided  = approval.VerdictDecided
	VerdictRepeated = approval.VerdictRepeated
	VerdictConflict = approval.VerdictConflict
	VerdictExpired  = approval.VerdictExpired
	VerdictDropped  = approval.VerdictDropped
)

// Resumed is the answer of [UpdateResume].
type Resumed struct {
	Verdict Verdict        `json:"verdict"`
	Pause   approval.Pause `json:"pause"` // with the decision that counts
}

// Ask is the input of [UpdateAsk]. Its update id is that of the question, so that a retry asks nothing anew.
type Ask struct {
	Call    int              `json:"call"`
	Request approval.Request `json:"request"`
}

// Asked is the answer: the pause, which the activity then follows in the store.
type Asked struct {
	Pause approval.Pause `json:"pause"`
}

// Cancel is the input of [UpdateCancel].
type Cancel struct {
	By     string       `json:"by"`
	Name   string       `json:"name,omitempty"`
	Via    approval.Via `json:"via"`
	Reason string       `json:"reason,omitempty"`
}

// Phase is where an execution is.
type Phase string

// The phases.
const (
	PhaseWaiting Phase = "waiting" // for a person
	PhaseCalling Phase = "calling" // the upstream
	PhaseSettled Phase = "settled"
)

// Snapshot is the answer of the query, and the workflow's result.
type Snapshot struct {
	Key       string            `json:"key"`
	Address   string            `json:"address"`
	Phase     Phase             `json:"phase"`
	Pauses    []approval.Pause  `json:"pauses"`
	Outcome   *approval.Outcome `json:"outcome,omitempty"`
	Digest    string            `json:"digest"`
	StartedAt time.Time         `json:"startedAt"`
}
