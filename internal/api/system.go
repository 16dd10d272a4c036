package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// liveness is the answer of a process that lives.
type liveness struct {
	Status string `json:"status" enum:"alive"`
}

// readiness is the answer of a process that can serve.
type readiness struct {
	Status string `json:"status" enum:"ready"`
}

func getLive(*API, *call) (*reply, error) { return ok(liveness{Status: "alive"}) }

// getReady asks what everything here depends on.
func getReady(a *API, c *call) (*reply, error) {
	for _, dependency := range []struct {
		monitor *monitor
		code    Code
	}{{a.stored, CodeStoreUnavailable}, {a.writable, CodeStoreUnavailable}, {a.temporal, CodeTemporalUnavailable}} {
		if err := dependency.monitor.look(c.Context()); err != nil {
			return nil, fail(dependency.code).because(err)
		}
	}
	if a.serving.Err() != nil {
		return nil, fail(CodeStopping)
	}
	return ok(readiness{Status: "ready"})
}

func getDocument(a *API, _ *call) (*reply, error) { return ok(json.RawMessage(a.document)) }

func serveMetrics(a *API, w http.ResponseWriter, c *call) { a.Metrics.ServeHTTP(w, c.Request) }

var errHangs = errors.New("the last look has not come back yet")

// StoreCheck makes the check of a store from its ping. The ping runs beside, one at a time: one that hangs in the file system
// cannot be ended, and must not hold up whoever asks.
func StoreCheck(ping func(context.Context) error) func(context.Context) error {
	place := make(chan struct{}, 1)
	return func(ctx context.Context) error {
		select {
		case place <- struct{}{}:
		default:
			return errHangs
		}
		answer := make(chan error, 1)
		go func() {
			answer <- ping(ctx)
			<-place
		}()
		select {
		case err := <-answer:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
