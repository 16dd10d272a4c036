package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type modernServerKey struct{}

// newModern is the SDK's handler of the stateless protocol. Whoever asks was told before, and so was the server.
func (e *Endpoint) newModern() http.Handler {
	return mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		server, _ := r.Context().Value(modernServerKey{}).(*mcp.Server)
		return server
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, DisableLocalhostProtection: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: e.Settings.MaxBody,
	})
}

// postModern serves one request of the stateless protocol: its server is of its sender alone.
func (e *Endpoint) postModern(w http.ResponseWriter, q *request, body []byte, m *message) error {
	meta := e.metaOf(q, nil)
	meta.Protocol, meta.Client = aboutOf(m.params)
	// They mean nothing here, and the SDK would refuse one of them.
	q.Header.Del(headerSession)
	q.Header.Del(headerLastEvent)
	meta, err := e.Host.ResolveMeta(q.Context(), meta)
	if err != nil {
		return err
	}
	if e.directModern(w, q, meta, m) {
		return nil
	}
	server, err := e.modernServer(q.Context(), meta, q.who)
	if err != nil {
		return err
	}
	ctx, cancel := e.untilStopped(context.WithValue(q.Context(), modernServerKey{}, server))
	defer cancel()
	r := q.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	alive := newAliveWriter(w, e.Settings.Timing, m.call())
	defer alive.stop()
	e.modern.ServeHTTP(alive, r)
	return nil
}

// untilStopped is a context that ends with the endpoint.
func (e *Endpoint) untilStopped(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(e.ending, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

const metaProtocol = "io.modelcontextprotocol/protocolVersion"

type modernParams struct {
	Meta struct {
		Protocol string `json:"io.modelcontextprotocol/protocolVersion"`
		Client   struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"io.modelcontextprotocol/clientInfo"`
	} `json:"_meta"`
}

// modern reports whether a POST is one of the stateless protocol: its header says so, or the body does where the header or the session
// is missing that it would have otherwise.
func (q *request) modern(messages []message) bool {
	if q.version() >= protocolModern {
		return true
	}
	return (q.version() == "" || q.session == "") && len(messages) == 1 && modernMeta(messages[0].params)
}

// modernMeta reports whether the parameters of a request name the stateless protocol.
func modernMeta(params json.RawMessage) bool {
	if !bytes.Contains(params, []byte(metaProtocol)) {
		return false
	}
	protocol, _ := aboutOf(params)
	return protocol >= protocolModern
}

// aboutOf is what the parameters of a request of the stateless protocol say of it.
func aboutOf(params json.RawMessage) (protocol, client string) {
	var p modernParams
	if json.Unmarshal(params, &p) != nil {
		return "", ""
	}
	return p.Meta.Protocol, clientName(p.Meta.Client.Name, p.Meta.Client.Version)
}
