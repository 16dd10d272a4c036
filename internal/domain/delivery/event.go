package delivery

import "github.com/holdfast-mcp/holdfast/internal/domain/health"

// Event is something that happened to a connection. The set is closed.
type Event interface{ event() }

// Wanted says that a revision is desired now.
type Wanted struct {
	Revision string
	Trigger  string
	// Again asks for a delivery even of a revision that is ready.
	Again bool
}

// Unwanted says that nothing is desired any more.
type Unwanted struct{ Reason string }

// Started says that an attempt to deliver the revision starts. It counts only from pending, stale and failed.
type Started struct{ Revision string }

// Deferred says that an attempt was put off before it touched the engine.
type Deferred struct {
	Revision string
	Reason   string
}

// Pushed says that the engine answered the push of the revision. Its answer proves nothing.
type Pushed struct {
	Revision   string
	Generation int64
}

// Delivered says that a status read after the push said connected. It writes the receipt; the state stays as it is until
// the endpoint is verified.
type Delivered struct {
	Revision   string
	Generation int64
}

// Verified says that the endpoint listed the expected tools. With a receipt that counts it makes the entry ready.
type Verified struct {
	Revision   string
	Generation int64
	Reason     string
}

// Broken says that an attempt or a look at the connection failed.
type Broken struct {
	Revision string
	// Generation is the one in which the failure was seen; 0 counts in any.
	Generation int64
	Failure    health.Failure
}

// Doubted says that what was delivered is no longer proven.
type Doubted struct {
	// Generation is the one that is over; 0 is unconditional (a person's or the workflow's own word). An older one is
	// ignored.
	Generation int64
	Reason     string
	Trigger    string
}

func (Wanted) event()    {}
func (Unwanted) event()  {}
func (Started) event()   {}
func (Deferred) event()  {}
func (Pushed) event()    {}
func (Delivered) event() {}
func (Verified) event()  {}
func (Broken) event()    {}
func (Doubted) event()   {}
