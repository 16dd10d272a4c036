package delivery

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// Receipt records one delivery: the revision was pushed in a generation, the push answered, and a status read after it
// said connected. A receipt proves a delivery only while its generation is the entry's.
type Receipt struct {
	Revision   string    `json:"revision"`
	Generation int64     `json:"generation"`
	At         time.Time `json:"at"`
}

// Entry is the ledger of one connection.
type Entry struct {
	State State `json:"state"`
	// DesiredRevision is empty when nothing is desired.
	DesiredRevision string `json:"desiredRevision,omitempty"`
	// Generation counts the lives of the engine's entry: one more whenever what was delivered is no longer proven.
	Generation int64 `json:"generation"`

	// AppliedRevision is the revision proven ready last; a receipt for it may since have lost its generation.
	AppliedRevision string     `json:"appliedRevision,omitempty"`
	AppliedAt       *time.Time `json:"appliedAt,omitempty"`
	// Pushed is the last push that answered; it becomes the receipt when a status read after it says connected.
	Pushed     *Receipt   `json:"pushed,omitempty"`
	Receipt    *Receipt   `json:"receipt,omitempty"`
	VerifiedAt *time.Time `json:"verifiedAt,omitempty"`

	UpdatedAt     time.Time       `json:"updatedAt,omitzero"`
	LastAttemptAt *time.Time      `json:"lastAttemptAt,omitempty"`
	Trigger       string          `json:"trigger,omitempty"`
	Failure       *health.Failure `json:"failure,omitempty"`
}

// New is the entry of a connection of which nothing is known yet.
func New() Entry { return Entry{State: NotDesired, Generation: 1} }

// Proven reports whether the desired revision was delivered in the generation that is current.
func (e Entry) Proven() bool { return e.current(e.Receipt) }

// AwaitsConnected reports whether a push of the desired revision has answered in this generation: a status read that
// says connected now proves the delivery.
func (e Entry) AwaitsConnected() bool { return e.current(e.Pushed) && !e.Proven() }

func (e Entry) current(r *Receipt) bool {
	return r != nil && e.DesiredRevision != "" && r.Revision == e.DesiredRevision && r.Generation == e.Generation
}

// Usable reports whether model execution may use the connection: ready, with a receipt that still counts, verified.
func (e Entry) Usable() bool {
	return e.State == Ready && e.Proven() && e.VerifiedAt != nil && e.AppliedRevision == e.DesiredRevision
}

// Snapshot is what is shown of an entry. Absent values are null, so that a program can tell "never" from "empty".
type Snapshot struct {
	State           State           `json:"state"`
	DesiredRevision *string         `json:"desiredRevision"`
	AppliedRevision *string         `json:"appliedRevision"`
	UpdatedAt       *time.Time      `json:"updatedAt"`
	AppliedAt       *time.Time      `json:"appliedAt"`
	LastAttemptAt   *time.Time      `json:"lastAttemptAt"`
	VerifiedAt      *time.Time      `json:"verifiedAt"`
	Generation      int64           `json:"generation"`
	Trigger         *string         `json:"trigger"`
	Failure         *health.Failure `json:"failure"`
}

// Snapshot shows the entry as it is.
func (e Entry) Snapshot() Snapshot {
	if e.DesiredRevision == "" {
		return Snapshot{State: NotDesired}
	}
	return Snapshot{
		State:           e.State,
		DesiredRevision: text(e.DesiredRevision),
		AppliedRevision: text(e.AppliedRevision),
		UpdatedAt:       moment(e.UpdatedAt),
		AppliedAt:       e.AppliedAt,
		LastAttemptAt:   e.LastAttemptAt,
		VerifiedAt:      e.VerifiedAt,
		Generation:      e.Generation,
		Trigger:         text(e.Trigger),
		Failure:         e.Failure,
	}
}

// SnapshotOf shows the entry to somebody who asks for one revision. Of a revision that is not the desired one nothing
// is known but that it would be pending; an empty revision is not desired.
func (e Entry) SnapshotOf(revision string) Snapshot {
	switch revision {
	case "":
		return Snapshot{State: NotDesired}
	case e.DesiredRevision:
		return e.Snapshot()
	default:
		return Snapshot{
			State:           Pending,
			DesiredRevision: text(revision),
			UpdatedAt:       moment(e.UpdatedAt),
			LastAttemptAt:   e.LastAttemptAt,
			Generation:      e.Generation,
			Trigger:         text(e.Trigger),
		}
	}
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
