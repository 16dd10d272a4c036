package mcpserver

import (
	"context"
	"net/http"
)

// delete ends a session for good. Without a session there is nothing to end.
func (e *Endpoint) delete(w http.ResponseWriter, q *request) error {
	if q.session == "" && q.version() >= protocolModern {
		return e.noSuchMethod(w)
	}
	if err := checkVersion(q.version()); err != nil {
		return err
	}
	if q.session == "" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	row, err := e.admit(q)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(q.Context(), storeTimeout)
	defer cancel()
	if err := e.Sessions.Terminate(ctx, row.ID, q.who.ID, e.Now()); err != nil {
		return &storeError{err}
	}
	if rt := e.residents.get(row.ID); rt != nil {
		rt.close(errTerminated)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// noSuchMethod answers what the modern protocol has no use for.
func (e *Endpoint) noSuchMethod(w http.ResponseWriter) error {
	w.Header().Set("Allow", "POST, OPTIONS")
	return refuse(http.StatusMethodNotAllowed, codeSession, "Method not allowed")
}
