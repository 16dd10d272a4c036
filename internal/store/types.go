package store

import (
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// Key names a connection. Workspace and Name are never empty.
type Key = delivery.Key

// Engine is an OpenCode server.
type Engine struct {
	ID       string
	BaseURL  string // without credentials
	Username string
	Password string `json:"-"` // sealed at rest

	UpdatedAt time.Time // of the last change; given as zero, the time of writing is taken
}

// String leaves the credentials out.
func (e Engine) String() string { return fmt.Sprintf("engine %q at %s", e.ID, e.BaseURL) }

// GoString leaves the credentials out of %#v.
func (e Engine) GoString() string { return e.String() }

// Desired is what a connection should be.
type Desired struct {
	Key
	EngineID string // empty: the workspace has no engine yet
	Profile  desired.Profile
	Config   desired.Config   // sealed at rest as a whole: headers and the URL's query may be secret
	Metadata desired.Metadata // sealed at rest
	// TokenSource is nil when the headers are sent as they are; sealed at rest.
	TokenSource *desired.TokenSource

	UpdatedAt time.Time // of the last change; given as zero, the time of writing is taken
}

// String leaves the config out.
func (d Desired) String() string { return d.Key.String() }

// GoString leaves the config out of %#v.
func (d Desired) GoString() string { return d.String() }

// Filter selects desired configs; an empty field selects all.
type Filter struct {
	Workspace string
	Name      string
	EngineID  string
}

// ProbeState is what the probes of one connection have to remember.
type ProbeState struct {
	LastProbeAt time.Time // zero: never probed
	LastOKAt    time.Time // zero: never well
	Misses      int       // failed probes in a row
	Canary      []byte    // the session that is kept from probe to probe; sealed at rest; nil: none
}

// Push is the last registration of a connection that was sent to its engine.
type Push struct {
	Generation int64
	Revision   string
	StartedAt  time.Time // zero: there was none
	Deadline   time.Time // when a push that nobody finished is surely over
	FinishedAt time.Time // zero: not finished, or nobody was left to say so
}

// InFlight tells whether the push may still have an effect on the engine at the time now.
func (p Push) InFlight(now time.Time) bool {
	return !p.StartedAt.IsZero() && p.FinishedAt.IsZero() && now.Before(p.Deadline)
}
