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

// postModern serves one request of the stateless protocol: its server is built for it alone.
func (e *Endpoint) postModern(w http.ResponseWriter, q *request, body []byte) error {
	meta := e.metaOf(q, nil)
	about := modernMetaOf(body)
	meta.Protocol, meta.Client = about.protocol, about.client
	meta, err := e.Host.ResolveMeta(q.Context(), meta)
	if err != nil {
		return err
	}
	server, err := e.Host.BuildServer(q.Context(), meta)
	if err != nil {
		return err
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if extra := req.GetExtra(); extra != nil {
				extra.TokenInfo = tokenInfo(q.who)
			}
			return next(e.withCaller(ctx, q.who), method, req)
		}
	})
	ctx, cancel := e.untilStopped(context.WithValue(q.Context(), modernServerKey{}, server))
	defer cancel()
	r := q.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	alive := newAliveWriter(w, e.Settings.Timing, about.call)
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

// modernMeta reports whether the parameters of a request name the stateless protocol, although its headers do not.
func modernMeta(params json.RawMessage) bool {
	if !bytes.Contains(params, []byte(metaProtocol)) {
		return false
	}
	var p modernParams
	return json.Unmarshal(params, &p) == nil && p.Meta.Protocol >= protocolModern
}

// about is what a request of the stateless protocol says of itself.
type about struct {
	protocol, client string
	call             bool // it has an answer
}

func modernMetaOf(body []byte) about {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Params modernParams    `json:"params"`
	}
	if json.Unmarshal(body, &m) != nil {
		return about{protocol: protocolModern}
	}
	info := m.Params.Meta.Client
	return about{protocol: m.Params.Meta.Protocol, client: clientName(info.Name, info.Version), call: len(m.ID) > 0}
}
