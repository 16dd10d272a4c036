package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/executions"
	"github.com/holdfast-mcp/holdfast/internal/origin"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// Store is what pages read beside the engine.
type Store interface {
	Pauses(ctx context.Context, filter store.PauseFilter) ([]store.PauseRow, error)
	AuditLog(ctx context.Context, filter store.AuditFilter) ([]store.Audit, error)
	LastChange(ctx context.Context) (int64, error)
	Arguments(ctx context.Context, keys []string, limit int) (map[string]store.SizedArguments, error)
}

// Tools is what is known of tools now; asking it waits for nothing.
type Tools interface {
	// Known reads one tool: catalog.ErrNoTool where there is none, and any other error where that is not known yet.
	Known(address string) (catalog.Tool, error)
}

// Settings are what whoever runs the gateway chooses; the zero value of each has a default.
type Settings struct {
	// Names are those under which the gateway is reached.
	Names origin.Policy
	// ReadOnly shows everything and decides nothing.
	ReadOnly bool
	// Poll is how often a live page looks; 0: 1 s. AskAgain is how often it asks whether its login still holds; 0: 10 s.
	Poll     time.Duration
	AskAgain time.Duration
	// KeepAlive is how often a live page's stream says that it lives; 0: 15 s.
	KeepAlive time.Duration
	// Streams is how many live pages there may be at once; 0: 500.
	Streams int
}

// Params are what the pages are made of. All but Settings, Log and Now are needed, and Auth has to have sessions.
type Params struct {
	Engine   executions.Engine
	Store    Store
	Tools    Tools
	Auth     *auth.Authenticator
	Settings Settings
	Log      *slog.Logger
	Now      func() time.Time
}

// Web serves the pages. It is made once and closed once.
type Web struct {
	Params

	log     *slog.Logger
	pages   pages
	streams chan struct{}
	serving context.Context //nolint:containedctx // over when streams have to end
	drain   context.CancelFunc
}

// New makes the pages.
func New(p Params) (*Web, error) {
	if p.Engine == nil || p.Store == nil || p.Tools == nil || p.Auth == nil || p.Auth.Sessions() == nil {
		return nil, errors.New("make pages: engine, store, tools and an authenticator with sessions are needed")
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	p.Settings = p.Settings.complete()
	made, err := parsePages()
	if err != nil {
		return nil, fmt.Errorf("make pages: %w", err)
	}
	w := &Web{Params: p, log: p.Log.With("component", "web"), pages: made, streams: make(chan struct{}, p.Settings.Streams)}
	w.serving, w.drain = context.WithCancel(context.Background())
	return w, nil
}

func (s Settings) complete() Settings {
	for _, each := range []struct {
		value   *time.Duration
		instead time.Duration
	}{{&s.Poll, time.Second}, {&s.AskAgain, 10 * time.Second}, {&s.KeepAlive, 15 * time.Second}} {
		if *each.value <= 0 {
			*each.value = each.instead
		}
	}
	if s.Streams <= 0 {
		s.Streams = 500
	}
	return s
}

// Drain ends live updates, which would else keep a server from stopping. Pages go on.
func (w *Web) Drain() { w.drain() }

// Close ends what is left.
func (w *Web) Close() { w.drain() }

type route struct {
	pattern string
	serve   func(*Web, http.ResponseWriter, *visit)
	// login holds for what needs somebody who is logged in, and a page of theirs where it changes something.
	login bool
}

func routes() []route {
	return []route{
		{"GET /{$}", (*Web).home, true},
		{"GET /login", (*Web).loginPage, false},
		{"POST /login", (*Web).loginByToken, false},
		{"GET /login/oidc", (*Web).loginBegin, false},
		{"GET /login/callback", (*Web).loginFinish, false},
		{"POST /logout", (*Web).logout, true},
		{"GET /resume/{id}", (*Web).resumePage, true},
		{"POST /resume/{id}", (*Web).resumePost, true},
		{"GET /resume/{id}/events", (*Web).resumeEvents, true},
		{"GET /approvals", (*Web).inboxPage, true},
		{"GET /approvals/events", (*Web).inboxEvents, true},
		{"GET /approvals/history", (*Web).historyPage, true},
		{"GET /assets/{file}", (*Web).asset, false},
	}
}

// Routes are the patterns that the handler serves, as the standard library's mux writes them.
func Routes() []string {
	var patterns []string
	for _, r := range routes() {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

// Handler serves every route, and a page of its own for what there is not.
func (w *Web) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.HandleFunc(r.pattern, func(rw http.ResponseWriter, req *http.Request) { w.serve(r, rw, req) })
	}
	mux.HandleFunc("/", func(rw http.ResponseWriter, req *http.Request) { w.serve(route{serve: (*Web).nothing}, rw, req) })
	return w.guard(mux)
}
