package connection

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

const schemaVersion = 1

func (c *connection) snapshot() Snapshot {
	reason, since := c.last()
	return Snapshot{
		Snapshot: c.Entry.Snapshot(), Reason: reason, StateSince: since, WaitingFor: c.waitingFor(), Degraded: c.Degraded,
		Attempts: c.Attempts, NextAttemptAt: c.NextAttemptAt, Token: c.tokenView(), EngineID: c.EngineID,
		Directory: c.Key.Directory,
	}
}

// snapshotOf shows the connection to somebody who wants one revision: of another one nothing under way counts.
func (c *connection) snapshotOf(revision string) Snapshot {
	if revision == c.Entry.DesiredRevision && revision != "" {
		return c.snapshot()
	}
	return Snapshot{Snapshot: c.Entry.SnapshotOf(revision), EngineID: c.EngineID, Directory: c.Key.Directory}
}

// last is why and when the state became what it is.
func (c *connection) last() (reason string, since *time.Time) {
	n := len(c.Transitions)
	if n == 0 {
		return "", nil
	}
	t := c.Transitions[n-1]
	return t.Reason, &t.At
}

func (c *connection) waitingFor() WaitingFor {
	if c.WaitingFor == "" && c.NextAttemptAt != nil {
		return WaitingRetry
	}
	return c.WaitingFor
}

func (c *connection) health() Health {
	first := c.firstFailure()
	h := Health{
		SchemaVersion: schemaVersion,
		Phase:         health.PhaseOf(first),
		Usable:        first == nil && c.Entry.Usable(),
		Workspace:     c.Key.Workspace,
		Name:          c.Key.Name,
		Delivery:      c.snapshot(),
		Desired:       DesiredView{Name: c.Key.Name},
		Engine:        EngineView{Status: "not_checked"},
		Tools:         c.Tools,
		WaitingFor:    c.waitingFor(),
		FirstFailure:  first,
		CheckedAt:     c.CheckedAt,
	}
	if c.Desired != nil {
		h.Desired = DesiredView{
			Present: true, Name: c.Key.Name, Revision: c.Desired.Revision, Profile: c.Desired.Profile,
			Config: c.Desired.Config, TimeoutMillis: c.Desired.TimeoutMillis, Account: c.Desired.Account,
		}
	}
	if c.EngineStatus != "" {
		h.Engine.Status = c.EngineStatus
	}
	if f := c.Entry.Failure; f != nil && f.Stage == health.StageEngineDelivery && h.Engine.Status != statusConnected {
		h.Engine.Error = f.Message
	}
	return h
}

// firstFailure is what stands between the connection and its use: what cannot be read, what is not wanted, the ledger's
// own failure, and, while a delivery is due or under way, that the engine does not have it yet.
func (c *connection) firstFailure() *health.Failure {
	if c.LoadFailure != nil {
		return c.LoadFailure
	}
	if c.Entry.DesiredRevision == "" {
		missing := health.DesiredMissing()
		return &missing
	}
	if c.Entry.Failure != nil {
		return c.Entry.Failure
	}
	if c.Entry.State == delivery.Ready {
		return nil
	}
	if f := health.FromEngineStatus("", ""); f != nil {
		return f
	}
	return nil
}

func codeOf(h Health) health.Code {
	if h.FirstFailure == nil {
		return ""
	}
	return h.FirstFailure.Code
}
