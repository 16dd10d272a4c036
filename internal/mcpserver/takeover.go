package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

// lostMessage answers a request that nobody can take over.
const lostMessage = "The request was lost with the replica that worked on it: look up what it did before you send it again"

// takeOver claims a stream whose replica has gone, and has its unanswered requests worked on here: under the same names, so that
// nothing is done twice. It reports whether they are; who comes second finds them claimed.
func (e *Endpoint) takeOver(q *request, row store.Session, left store.Stream) bool {
	rt, err := e.use(q, row)
	if err == nil {
		defer rt.unuse()
	} else if asFailure(err).status == http.StatusServiceUnavailable {
		e.Log.WarnContext(q.Context(), "the requests of a lost replica are not taken over yet", "error", err)
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.Context()), storeTimeout)
	defer cancel()
	now := e.Now()
	claimed, ours, claiming := e.Store.ClaimStream(ctx, store.Stream{
		Session: row.ID, ID: left.ID, Owner: e.owner, Until: now.Add(e.Settings.Timing.Lease),
	}, now)
	if claiming != nil || !ours {
		return false
	}
	if err == nil {
		err = rt.adopt(q, claimed)
	}
	if err == nil {
		return true
	}
	e.Log.WarnContext(ctx, "the requests of a lost replica are answered as lost", "error", err)
	for _, id := range claimed.Requests {
		answer := encodeResponse(json.RawMessage(id), &jsonrpc.Response{Error: &jsonrpc.Error{Code: codeLost, Message: lostMessage}})
		if _, err := e.storeAnswer(row.ID, left.ID, answered{json.RawMessage(id), answer}); err != nil {
			e.keeper.giveUp(row.ID)
		}
	}
	return false
}

// adopt feeds a claimed stream's requests to the server.
func (rt *runtime) adopt(q *request, claimed store.Stream) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(claimed.Messages, &raw); err != nil {
		return err
	}
	s := rt.newStream(claimed.ID, claimed.OpenedAt)
	s.requests, s.mode, s.attached = raw, streamLogged, false
	close(s.change)
	var messages []message
	for _, each := range raw {
		m, err := parseMessage(each)
		if err != nil {
			return err
		}
		if slices.Contains(claimed.Requests, string(m.id)) {
			messages = append(messages, m)
			s.open = append(s.open, m.id)
		}
	}
	if len(messages) == 0 || len(messages) < len(claimed.Requests) {
		return errors.New("the messages of the requests are not there")
	}
	calls, err := rt.register(s, slices.Clone(s.open))
	if err != nil {
		return err
	}
	rt.remember(s)
	for i, c := range calls {
		rt.conn.feed(&jsonrpc.Request{ID: c.id, Method: messages[i].method, Params: messages[i].params, Extra: rt.extra(c, q.who, q.Header)})
	}
	return nil
}
