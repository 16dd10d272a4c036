package mcpserver

import (
	"context"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// storeTimeout bounds a call of the store or of a session's workflow.
const storeTimeout = 5 * time.Second

// Sessions keeps sessions: a row that every request reads, and a workflow behind it.
type Sessions interface {
	// Create makes both. An error leaves nothing that answers.
	Create(ctx context.Context, session store.Session) error
	// Lookup reads the row, also of a session that has ended; [store.ErrNotFound] where there never was one.
	Lookup(ctx context.Context, id string) (store.Session, error)
	// ChangeState changes what was negotiated, as one step: another replica may change something else of it at the same time.
	ChangeState(ctx context.Context, id, protocol string, change func(state []byte) ([]byte, error)) error
	// Touch says that it was used, put to sleep or woken: why is "use", "sleep" or "wake".
	Touch(ctx context.Context, session store.Session, at time.Time, why string) error
	// Terminate ends it, which is final when it returns.
	Terminate(ctx context.Context, id, by string, at time.Time) error
}

// Log keeps the messages of sessions, for whichever replica serves a client next. [store.Store] is one.
type Log interface {
	OpenStream(ctx context.Context, stream store.Stream) error
	AppendEvent(ctx context.Context, event store.Event) (int64, error)
	Answered(ctx context.Context, session, stream, requestID string, event store.Event) (int64, error)
	Events(ctx context.Context, session, stream string, after int64, limit int) ([]store.Event, error)
	Stream(ctx context.Context, session, stream string) (store.Stream, error)
	// RunningStreams are those with requests that are not answered, UndeliveredStreams those that nobody has acknowledged.
	RunningStreams(ctx context.Context, session string) ([]store.Stream, error)
	UndeliveredStreams(ctx context.Context, session string) ([]store.Stream, error)
	AckStream(ctx context.Context, session, stream string, at time.Time) error
	// RenewStreams keeps the streams of a replica, ReleaseStreams gives them up: of one session, or of all.
	RenewStreams(ctx context.Context, owner string, until time.Time) error
	ReleaseStreams(ctx context.Context, owner, session string) error
	ClaimStream(ctx context.Context, want store.Stream, now time.Time) (store.Stream, bool, error)
	// PutInbox leaves a message for a replica, TakeInbox fetches a replica's.
	PutInbox(ctx context.Context, item store.InboxItem) (int64, error)
	TakeInbox(ctx context.Context, replica string, limit int) ([]store.InboxItem, error)
}
