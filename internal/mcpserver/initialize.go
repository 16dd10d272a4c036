package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// initializeTimeout bounds the making of a session.
	initializeTimeout = time.Minute
	// maxClient bounds what a client calls itself, in characters.
	maxClient = 200
)

// initialize makes a session. Its row is written when the server has agreed, and before the client is answered.
func (e *Endpoint) initialize(w http.ResponseWriter, q *request, messages []message) error {
	if q.session != "" {
		if _, err := e.admit(q); err != nil {
			return err
		}
		return refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "Invalid Request: the session is initialized already")
	}
	if len(messages) > 1 || !messages[0].call() {
		return refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "Invalid Request: initialize is one request and comes alone")
	}
	ctx, cancel := context.WithTimeout(q.Context(), initializeTimeout)
	defer cancel()
	m := &messages[0]
	meta := e.metaOf(q, m.params)
	meta.Session = newSessionID()
	rt, err := e.newRuntime(ctx, meta, nil)
	if err != nil {
		return err
	}
	answer, err := rt.ask(ctx, m.method, m.params, rt.extra(nil, q.who, q.Header))
	if err == nil && answer.Error == nil {
		err = e.create(ctx, rt)
	}
	if err != nil || answer.Error != nil {
		rt.close(errAsleep)
	}
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set(headerType, contentTypeJSON)
	h.Set(headerCache, cacheNever)
	if answer.Error == nil {
		h.Set(headerSession, rt.id)
	}
	_ = writeAll(w, http.NewResponseController(w), encodeResponse(m.id, answer)) // a client that has gone makes another session
	return nil
}

// create stores a session that was negotiated, and keeps its runtime.
func (e *Endpoint) create(ctx context.Context, rt *runtime) error {
	rt.states.Lock()
	defer rt.states.Unlock()
	raw, err := json.Marshal(rt.state)
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	now := e.Now()
	rt.meta.Protocol = rt.state.NegotiatedProtocolVersion
	row := store.Session{
		ID: rt.id, Identity: rt.meta.Principal.Identity, Mode: rt.meta.Mode, Resource: rt.meta.Resource, Role: string(rt.meta.Principal.Role),
		Origin: rt.meta.Origin, Client: rt.meta.Client, Protocol: rt.meta.Protocol, CreatedAt: now, LastSeenAt: now, State: raw,
	}
	if e.residents.full(e.Settings.MaxResident) {
		if err := e.makeRoom(); err != nil {
			return err
		}
	}
	if err := e.Sessions.Create(ctx, row); err != nil {
		return &storeError{err}
	}
	rt.saved, rt.row = raw, row
	rt.row.State = nil
	e.residents.put(rt)
	rt.arm(e.Settings.Limits.Idle)
	return nil
}

// metaOf is for whom a server is built that a request asks for.
func (e *Endpoint) metaOf(q *request, params json.RawMessage) Meta {
	var asked struct {
		ProtocolVersion string `json:"protocolVersion"`
		ClientInfo      struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"clientInfo"`
	}
	_ = json.Unmarshal(params, &asked) // the server says what is wrong with them
	versions := legacyVersions()
	protocol := asked.ProtocolVersion
	if !slices.Contains(versions, protocol) {
		protocol = versions[0]
	}
	return Meta{
		Principal: q.who, Mode: approval.ParseMode(q.URL.Query().Get("elicitation_mode")), Resource: q.resource,
		Origin: e.Settings.Names.Base(q.Request), Client: clientName(asked.ClientInfo.Name, asked.ClientInfo.Version), Protocol: protocol,
	}
}

// clientName is what a client calls itself, fit for lists.
func clientName(name, version string) string {
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.TrimSpace(name+" "+version))
	if runes := []rune(text); len(runes) > maxClient {
		return string(runes[:maxClient])
	}
	return text
}

// full reports whether there is no room for one more.
func (m *residents) full(limit int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.entries) >= limit
}
