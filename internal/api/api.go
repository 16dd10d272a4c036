package api

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/origin"
)

// API serves the REST routes. It is made once and closed once.
type API struct {
	Params

	log      *slog.Logger
	now      func() time.Time
	temporal *monitor
	stored   *monitor
	writable *monitor
	flights  *flights
	updates  singleflight.Group // updates under way, by connection, kind and revision
	waiting  atomic.Int64       // callers who wait for an operation
	sharing  atomic.Int64       // of them, those who wait for an update
	streams  places
	document []byte // the OpenAPI document
	names    origin.Policy

	base    context.Context //nolint:containedctx // the life of the API: what callers leave behind ends with it
	stop    context.CancelFunc
	serving context.Context //nolint:containedctx // over when streams have to end
	drain   context.CancelFunc
	running sync.WaitGroup
	pruned  pruner
}

// New makes the API. It fails only where its own table of routes is wrong.
func New(p Params) (*API, error) {
	if p.Settings.Now == nil {
		p.Settings.Now = time.Now
	}
	if p.Settings.EventPoll <= 0 {
		p.Settings.EventPoll = time.Second
	}
	if p.Settings.KeepAlive <= 0 {
		p.Settings.KeepAlive = 15 * time.Second
	}
	if p.Settings.AskAgain <= 0 {
		p.Settings.AskAgain = 10 * time.Second
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Auth == nil {
		p.Auth = auth.NewAuthenticator(auth.Sources{Tokens: p.Tokens, Open: p.Settings.Open})
	}
	a := &API{
		Params: p, log: p.Log.With("component", "api"), now: p.Settings.Now,
		temporal: newMonitor(p.TemporalHealth, time.Now), stored: newMonitor(p.StoreHealth, time.Now),
		writable: newMonitor(p.StoreWritable, time.Now),
		names: origin.Policy{
			Public: p.Settings.PublicURL, Hosts: p.Settings.Hosts, AnyAddress: p.Settings.AnyAddress, Origins: p.Settings.Origins,
		},
	}
	a.base, a.stop = context.WithCancel(context.Background())
	a.serving, a.drain = context.WithCancel(a.base)
	a.flights = newFlights(a)
	var err error
	a.document, err = newDocument(p.Build.Version, routes())
	return a, err
}

// Drain ends streams of events, which would else keep a server from stopping. Everything else goes on.
func (a *API) Drain() { a.drain() }

// Close ends streams and gives up what is still under way: a caller who kept the key of a request gets its result from
// another gateway.
func (a *API) Close() {
	a.stop()
	a.running.Wait()
	a.Tokens.Close()
}

func (a *API) stopped() bool { return a.base.Err() != nil }

// Handler serves every route.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, methods := range byPath(routes()) {
		mux.Handle(path, a.byMethod(methods))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.refuse(w, r, fail(CodeRouteNotFound)) })
	return a.guard(a.identify(a.limitBody(a.checkHost(a.checkOrigin(a.clean(mux))))))
}
