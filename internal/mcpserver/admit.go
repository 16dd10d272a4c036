package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// admit reads the session's row and compares identity and resource, before anything is done.
func (e *Endpoint) admit(q *request) (store.Session, error) {
	if q.session == "" {
		return store.Session{}, refuse(http.StatusBadRequest, codeTransport, messageNoSession)
	}
	row, err := e.lookup(q.Context(), q.session)
	if err != nil {
		return store.Session{}, err
	}
	switch {
	case row.Identity != q.who.Identity:
		return store.Session{}, refuse(http.StatusForbidden, codeForbidden, "MCP session does not belong to the current bearer")
	case auth.Role(row.Role).Allows(auth.RoleCollaborator) && !q.who.Role.Allows(auth.RoleCollaborator):
		return store.Session{}, refuse(http.StatusForbidden, codeForbidden, "MCP session belongs to a role that does more than read")
	case resourceKey(row.Resource) != q.resource:
		return store.Session{}, refuse(http.StatusForbidden, codeForbidden, "MCP session does not belong to this resource")
	}
	return row, nil
}

// lookup reads the row of a session that is alive. A runtime of one that was ended elsewhere ends here too.
func (e *Endpoint) lookup(ctx context.Context, id string) (store.Session, error) {
	if !validSessionID(id) {
		return store.Session{}, errNoSession
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	row, err := e.Sessions.Lookup(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return row, errNoSession
	case err != nil:
		return row, &storeError{fmt.Errorf("look up session: %w", err)}
	case row.TerminatedAt.IsZero():
		return row, nil
	}
	if rt := e.residents.get(id); rt != nil {
		rt.close(errTerminated)
	}
	return row, errTerminated
}

// restoreTries bounds how often a runtime is wanted that ends at the same moment.
const restoreTries = 5

// use gives the session's runtime, restored where it sleeps, with what another replica has negotiated meanwhile. It is in use until
// its unuse.
func (e *Endpoint) use(q *request, row store.Session) (*runtime, error) {
	for range restoreTries {
		rt, err := e.resident(q.Context(), row, q.who)
		if err != nil {
			return nil, err
		}
		if rt.use() != nil {
			continue
		}
		if err := rt.follow(q.Context(), row.State); err != nil {
			rt.unuse()
			return nil, err
		}
		return rt, nil
	}
	return nil, errStopping
}

// follow takes over what was negotiated at another replica since this runtime was made.
func (rt *runtime) follow(ctx context.Context, state []byte) error {
	rt.states.Lock()
	defer rt.states.Unlock()
	if bytes.Equal(rt.saved, state) {
		return nil
	}
	var wanted mcp.ServerSessionState
	if err := json.Unmarshal(state, &wanted); err != nil {
		return fmt.Errorf("follow session: read its state: %w", err)
	}
	changed := wanted.LogLevel != rt.state.LogLevel && wanted.LogLevel != ""
	rt.state, rt.saved = wanted, bytes.Clone(state)
	if !changed {
		return nil
	}
	params, err := json.Marshal(map[string]any{"level": wanted.LogLevel})
	if err != nil {
		return fmt.Errorf("follow session: %w", err)
	}
	_, err = rt.ask(ctx, methodSetLevel, params, nil)
	return err
}

// observe keeps what was negotiated, so that any replica can go on from there.
func (rt *runtime) observe(ctx context.Context, method string, req mcp.Request, result mcp.Result) error {
	if method != methodInitialize && method != methodInitialized && method != methodSetLevel {
		return nil
	}
	if c, known := ctx.Value(callKey{}).(*call); method == methodSetLevel && (!known || c.stream == nil) {
		return nil // it was told by the session's state
	}
	rt.states.Lock()
	defer rt.states.Unlock()
	change := rt.negotiated(req, result)
	if change == nil {
		return nil // the session's row does not exist yet
	}
	change(&rt.state)
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var saved []byte
	err := rt.e.Sessions.ChangeState(ctx, rt.id, rt.state.NegotiatedProtocolVersion, func(before []byte) (after []byte, err error) {
		var state mcp.ServerSessionState
		if err := json.Unmarshal(before, &state); err != nil {
			return nil, err
		}
		change(&state)
		saved, err = json.Marshal(state)
		return saved, err
	})
	if err != nil {
		rt.e.Log.Log(ctx, rt.e.gravity(rt.id, slog.LevelError), "what an MCP session negotiated is not stored", "error", err)
		return errors.New("the session's state could not be stored: try again")
	}
	// What another replica has changed is followed by the next request.
	if own, err := json.Marshal(rt.state); err == nil && bytes.Equal(own, saved) {
		rt.saved = saved
	}
	return nil
}

// negotiated is what a request changes of a session's state; nil: it is kept with the session's row, which is made of it.
func (rt *runtime) negotiated(req mcp.Request, result mcp.Result) func(*mcp.ServerSessionState) {
	switch params := req.GetParams().(type) {
	case *mcp.InitializedParams:
		if params == nil {
			params = &mcp.InitializedParams{}
		}
		return func(state *mcp.ServerSessionState) { state.InitializedParams = params }
	case *mcp.SetLoggingLevelParams: //nolint:staticcheck // clients of sessions set it, and the modern protocol has no sessions
		return func(state *mcp.ServerSessionState) { state.LogLevel = params.Level }
	case *mcp.InitializeParams:
		rt.state.InitializeParams = params
		if made, ok := result.(*mcp.InitializeResult); ok {
			rt.state.NegotiatedProtocolVersion = made.ProtocolVersion
		}
	}
	return nil
}

const sessionIDBytes = 32

// newSessionID makes 64 hexadecimal digits.
func newSessionID() string { return randomHex(sessionIDBytes) }

// newToken makes a name that nobody else makes.
func newToken() string { return randomHex(12) }

func randomHex(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails: it would have ended the process
	return hex.EncodeToString(raw)
}

func validSessionID(id string) bool {
	if len(id) != hex.EncodedLen(sessionIDBytes) {
		return false
	}
	return strings.Trim(id, "0123456789abcdef") == ""
}

// legacyVersions are those that sessions negotiate, the newest first.
func legacyVersions() []string {
	return slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v >= protocolModern })
}

// checkVersion refuses versions before the stateless protocol that nobody speaks, and tells what is spoken here. Of later ones the SDK
// tells so, under the request's own id.
func checkVersion(version string) error {
	supported := mcp.SupportedProtocolVersions()
	if version == "" || version >= protocolModern || slices.Contains(supported, version) {
		return nil
	}
	return &failure{
		status: http.StatusBadRequest, code: mcp.CodeUnsupportedProtocolVersion,
		message: "Bad Request: Unsupported protocol version (supported versions: " + strings.Join(supported, ", ") + ")",
		data:    mcp.UnsupportedProtocolVersionData{Supported: supported, Requested: version},
	}
}

// accepts tells which kinds of answers a client takes.
func accepts(values []string) (asJSON, asStream bool) {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case contentTypeJSON, "application/*":
				asJSON = true
			case contentTypeSSE, "text/*":
				asStream = true
			case "*/*":
				asJSON, asStream = true, true
			}
		}
	}
	return asJSON, asStream
}

func unauthorized(err error) bool { return errors.Is(err, auth.ErrUnauthorized) }

func sizeText(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return strconv.FormatInt(bytes>>20, 10) + " MiB"
	}
	return strconv.FormatInt(bytes, 10) + " bytes"
}
