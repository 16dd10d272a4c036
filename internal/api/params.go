package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// Connections asks connection workflows; [connection.Client] does.
type Connections interface {
	Ensure(ctx context.Context, key delivery.Key, engineID string, changed connection.DesiredChanged) error
	Probe(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.Health, error)
	Reconcile(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.Health, error)
	Refresh(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.RefreshResult, error)
	Remove(ctx context.Context, key delivery.Key, requestID string, in connection.Request) (connection.Health, error)
	MarkStale(ctx context.Context, key delivery.Key, reason string) error
	Snapshot(ctx context.Context, key delivery.Key, revision *string) (connection.Snapshot, error)
	Projection(ctx context.Context, key delivery.Key) (connection.Projection, error)
	Describe(ctx context.Context, key delivery.Key) (connection.Description, error)
	ListPage(ctx context.Context, f connection.Filter, p connection.Page) (rows []connection.Listed, next string, err error)
	History(ctx context.Context, key delivery.Key) ([]connection.Transition, error)
	Transitions(ctx context.Context, workflowID string) ([]connection.Transition, error)
}

// Engines starts the watches of engines.
type Engines interface {
	Ensure(ctx context.Context, engineID string) error
}

// Diagnosis reads the whole health document.
type Diagnosis interface {
	Read(ctx context.Context, key delivery.Key, o diagnosis.Options) (diagnosis.Document, error)
}

// Resolver tells which revision of a connection is wanted.
type Resolver interface {
	Resolve(ctx context.Context, key delivery.Key) (desired.Resolved, error)
}

// Store is what the API reads and writes.
type Store interface {
	Workspaces(ctx context.Context, f store.WorkspaceFilter) ([]store.Workspace, error)
	PutWorkspace(ctx context.Context, w store.Workspace) (changed bool, err error)
	DeleteWorkspace(ctx context.Context, id, directory string) (existed bool, err error)

	PutDesired(ctx context.Context, want store.Desired) (changed bool, err error)
	DeleteDesired(ctx context.Context, key store.Key) (existed bool, err error)
	ListDesired(ctx context.Context, filter store.Filter) ([]store.Desired, error)
	DeleteRuntime(ctx context.Context, key store.Key) error
	Effective(ctx context.Context, key store.Key) (store.Effective, error)

	PutAccountDesired(ctx context.Context, want store.AccountDesired) (changed bool, err error)
	AccountDesired(ctx context.Context, account, name string) (store.AccountDesired, error)
	DeleteAccountDesired(ctx context.Context, account, name string) (existed bool, err error)
	ListAccountDesired(ctx context.Context, account string) ([]store.AccountDesired, error)

	PutIntent(ctx context.Context, intent store.Intent) (store.Intent, error)
	PutIntentFor(ctx context.Context, request string, plan []byte, intent store.Intent) (store.Intent, error)
	PutIntentIf(ctx context.Context, intent store.Intent, expect int64) (store.Intent, error)
	Intents(ctx context.Context, f store.IntentFilter) ([]store.Intent, error)

	Engine(ctx context.Context, id string) (store.Engine, error)

	BeginRequest(ctx context.Context, r store.Request) (existing store.Request, fresh bool, err error)
	ClaimRequest(ctx context.Context, id, holder string, now, until time.Time) (found store.Request, claimed bool, err error)
	RenewRequest(ctx context.Context, id, holder string, until time.Time) (held bool, err error)
	ReleaseRequest(ctx context.Context, id, holder string) error
	PlanRequest(ctx context.Context, id string, plan []byte) ([]byte, error)
	FinishRequest(ctx context.Context, id string, o store.Outcome) (store.Request, error)
	Request(ctx context.Context, id string) (store.Request, error)
	PruneRequests(ctx context.Context, before time.Time) (int64, error)
}

// Reload ends the instance of a directory in an engine.
type Reload func(ctx context.Context, e store.Engine, directory string) error

// Params are what the API is made of.
type Params struct {
	Store  Store
	Tokens *auth.Tokens
	// Auth tells who asks; nil: by Tokens alone, or nobody has to say where Settings.Open. Metadata tells clients whom to ask for a
	// token; nil: nobody tells them.
	Auth        *auth.Authenticator
	Metadata    *auth.Metadata
	Connections Connections
	Engines     Engines
	Diagnosis   Diagnosis
	Resolver    Resolver
	Reload      Reload
	Metrics     http.Handler
	Log         *slog.Logger
	Build       buildinfo.Build

	GatewayParams

	// TemporalHealth and StoreHealth tell whether the two answer; they are given a second. StoreWritable tells whether the store
	// takes writes too.
	TemporalHealth func(context.Context) error
	StoreHealth    func(context.Context) error
	StoreWritable  func(context.Context) error

	Settings Settings
}

// Settings are what whoever runs the gateway chooses.
type Settings struct {
	// Open lets in whoever asks, as owner.
	Open bool
	// ReadOnly refuses what would change something.
	ReadOnly bool
	// Hosts are the names under which the gateway may be reached beside this machine's own.
	Hosts []string
	// PublicURL is the scheme and host under which everybody reaches the gateway; empty: as each request says.
	PublicURL string
	// AnyAddress also takes requests that name the gateway by an IP address.
	AnyAddress bool
	// Origins are pages that may call it beside its own.
	Origins []string
	// EventPoll is how often a stream of events looks; 0: 1 s. KeepAlive is how often it says that it lives; 0: 15 s.
	EventPoll time.Duration
	KeepAlive time.Duration
	// AskAgain is how often a stream of events asks whether its token may still be used; 0: 10 s.
	AskAgain time.Duration
	// Now is the clock; nil: the system's.
	Now func() time.Time
}
