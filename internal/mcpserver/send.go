package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// send passes a notification or a request of the server on: to the stream of the request that is being handled, or to the standing one.
func (rt *runtime) send(ctx context.Context, m *jsonrpc.Request) error {
	if m.IsCall() {
		return rt.question(ctx, m)
	}
	if m.Method == notifyCancelled {
		m = rt.withdrawn(m)
	}
	return rt.pass(ctx, m)
}

// question passes a request of the server on, under an id of ours.
func (rt *runtime) question(ctx context.Context, m *jsonrpc.Request) error {
	name := rt.newAsk(m.ID)
	asked, err := jsonrpc.MakeID(name)
	if err == nil {
		err = rt.pass(ctx, &jsonrpc.Request{ID: asked, Method: m.Method, Params: m.Params})
	}
	if err != nil {
		rt.dropAsk(name)
	}
	return err
}

func (rt *runtime) pass(ctx context.Context, m *jsonrpc.Request) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("write message: %w", err)
	}
	if c := callOf(ctx); c != nil && c.stream != nil {
		return c.stream.send(ctx, data)
	}
	return rt.standing.send(ctx, rt, data)
}

// dropAsk forgets a question, and tells which request of the server it was.
func (rt *runtime) dropAsk(name string) (jsonrpc.ID, bool) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	id, ours := rt.asks[name]
	if ours {
		delete(rt.asks, name)
		rt.e.keeper.add(-1)
	}
	return id, ours
}

// newAsk gives a request of the server an id that no other replica and no later runtime gives again. It names the replica, so that
// an answer finds its way.
func (rt *runtime) newAsk(id jsonrpc.ID) string {
	name := rt.e.owner + "." + newToken()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.asks[name] = id
	rt.e.keeper.add(1)
	return name
}

// withdrawn rewrites a cancellation of a request of the server to the id that the client knows.
func (rt *runtime) withdrawn(m *jsonrpc.Request) *jsonrpc.Request {
	var p cancelParams
	if json.Unmarshal(m.Params, &p) != nil {
		return m
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	for name, id := range rt.asks {
		if fmt.Sprint(id.Raw()) != string(p.RequestID) {
			continue
		}
		delete(rt.asks, name)
		rt.e.keeper.add(-1)
		quoted, _ := json.Marshal(name) // a string has a JSON
		params, err := json.Marshal(cancelParams{RequestID: quoted, Reason: p.Reason})
		if err != nil {
			return m
		}
		return &jsonrpc.Request{Method: m.Method, Params: params}
	}
	return m
}

// replied hands a client's response to the server's request. It reports whether the request is this runtime's.
func (rt *runtime) replied(m *message) bool {
	var name string
	if json.Unmarshal(m.id, &name) != nil {
		return false
	}
	id, ours := rt.dropAsk(name)
	if !ours {
		return false
	}
	response := &jsonrpc.Response{ID: id, Result: m.result}
	if m.fault != nil {
		response.Error = m.fault
	}
	rt.conn.feed(response)
	return true
}

// cancel cancels the requests that the client knows under an id. It reports whether there were any.
func (rt *runtime) cancel(m *message) bool {
	var p cancelParams
	if json.Unmarshal(m.params, &p) != nil {
		return false
	}
	rt.mu.Lock()
	var found []jsonrpc.ID
	direct := false
	for id, c := range rt.calls {
		switch {
		case c.stream == nil || string(c.raw) != string(p.RequestID):
		case c.cancel != nil:
			c.cancel()
			direct = true
		default:
			found = append(found, id)
		}
	}
	rt.mu.Unlock()
	for _, id := range found {
		raw, err := json.Marshal(id.Raw())
		if err != nil {
			continue
		}
		if params, err := json.Marshal(cancelParams{RequestID: raw, Reason: p.Reason}); err == nil {
			rt.conn.feed(&jsonrpc.Request{Method: notifyCancelled, Params: params})
		}
	}
	return direct || len(found) > 0
}

// replicaOf is the replica that has asked the client something under an id.
func replicaOf(id json.RawMessage) (string, bool) {
	var name string
	if json.Unmarshal(id, &name) != nil {
		return "", false
	}
	at := strings.LastIndexByte(name, '.')
	if at < 0 {
		return "", false
	}
	return name[:at], true
}

// append stores a message of a stream.
func (e *Endpoint) append(ctx context.Context, event store.Event) (int64, error) {
	event.At = e.Now()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	seq, err := e.Store.AppendEvent(ctx, event)
	if err != nil {
		return 0, &storeError{err}
	}
	return seq, nil
}

// answerTries bounds how often a response is given to a store that does not take it; the pauses double from the first.
const (
	answerTries = 8
	answerPause = 50 * time.Millisecond
)

// storeAnswer stores a response. A response is worth waiting for: the work behind it may not be done twice.
func (e *Endpoint) storeAnswer(session, stream string, a answered) (int64, error) {
	event := store.Event{Session: session, Stream: stream, Data: a.data, Response: true, At: e.Now()}
	pause := answerPause
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		seq, err := e.Store.Answered(ctx, session, stream, string(a.id), event)
		cancel()
		settled := err == nil || errors.Is(err, store.ErrAnswered) || errors.Is(err, store.ErrStreamDone) || errors.Is(err, store.ErrNotFound)
		if settled || try == answerTries {
			if err != nil && !settled {
				e.Log.Error("a response of an MCP session could not be stored", "error", err)
			}
			return seq, err
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
			pause *= 2
		case <-e.ending.Done():
			wait.Stop()
			return 0, err
		}
	}
}
