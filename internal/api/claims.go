package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	// claimFor is how long a request is left to a gateway that was not heard of any more.
	claimFor   = 10 * time.Second
	renewEvery = 3 * time.Second
	// lookEvery is how often a request that somebody else carries out is looked at.
	lookEvery = 100 * time.Millisecond
	// keepTimeout bounds writing down what became of a request when nobody waits for it any more.
	keepTimeout = 2 * storeTimeout
)

// keeper is a request that wants to find the result later.
type keeper struct {
	id     string
	holder string
	// once holds for a request without a key: nobody can repeat it, so whatever comes out is its result.
	once bool
}

// noted is a request as it is known to the store.
type noted struct {
	row      store.Request
	holder   string // the name under which this call would carry it out
	held     bool   // it does
	replayed bool
}

func (n *noted) keeper() keeper { return keeper{id: n.row.ID, holder: n.holder, once: n.row.Key == ""} }

// takePart gives the flight of a request, or its result: one caller of all, whichever gateway they ask, carries it out; the others
// wait for what comes out, and take it over from one that was not heard of any more. Neither is given to who prefers not to wait.
func (a *API) takePart(c *call, n *noted, prefer preference) (*flight, *reply, error) {
	var enough <-chan time.Time
	if prefer.async {
		timer := time.NewTimer(prefer.wait)
		defer timer.Stop()
		enough = timer.C
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		if n.held {
			return a.begin(c, n)
		}
		if n.row.Done() || n.row.Passing && !first {
			rep, err := resultOf(n.row)
			return nil, rep, err
		}
		if under := a.flights.of(n.row.ID); under != nil {
			return under, nil, nil
		}
		if n.row.Free(a.now()) {
			if err := a.claim(c.Context(), n); err != nil {
				return nil, nil, err
			}
			continue
		}
		select {
		case <-tick.C:
		case <-enough:
			return nil, nil, nil
		case <-a.base.Done():
			return nil, nil, fail(CodeStopping)
		case <-c.Context().Done():
			return nil, nil, failf(CodeBusy, "Another call carries this request out: send it again.").because(c.Context().Err())
		}
		if err := a.reread(c.Context(), n); err != nil {
			return nil, nil, err
		}
	}
}

func (a *API) claim(ctx context.Context, n *noted) (err error) {
	n.row, err = fromStore(ctx, a, func(ctx context.Context) (row store.Request, err error) {
		now := a.now()
		row, n.held, err = a.Store.ClaimRequest(ctx, n.row.ID, n.holder, now, now.Add(claimFor))
		return row, err
	})
	return pruned(err)
}

func (a *API) reread(ctx context.Context, n *noted) (err error) {
	n.row, err = fromStore(ctx, a, func(ctx context.Context) (store.Request, error) { return a.Store.Request(ctx, n.row.ID) })
	return pruned(err)
}

// pruned is said of a request that was forgotten while somebody waited for it.
func pruned(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fail(CodeInterrupted).because(err)
	}
	return err
}

// begin carries a request out. One that cannot begin is given back: others need not wait for it.
func (a *API) begin(c *call, n *noted) (*flight, *reply, error) {
	c.memory = memoryOf(n.row)
	var under *flight
	err := protect(func() (err error) {
		under, err = a.takeOff(c, n.keeper())
		return err
	})
	if err == nil {
		return under, nil, nil
	}
	if asError(err).retryAfter() > 0 {
		rep, err := a.keep(n.keeper(), nil, err)
		return nil, rep, err
	}
	a.release(n.keeper())
	return nil, nil, err
}

// keep writes down what became of a request, and gives back what is its result: that of somebody else, where that was first. What
// passes by itself is only noted: the repetition tries again.
func (a *API) keep(k keeper, rep *reply, err error) (*reply, error) {
	if err == nil {
		return a.finish(k, store.Outcome{Status: rep.status}, rep, nil)
	}
	ours := asError(err)
	out := store.Outcome{Status: ours.status(), Passing: ours.retryAfter() > 0 && !k.once}
	switch {
	case out.Passing && ours.Code == CodeStopping:
		a.release(k) // another gateway goes on at once
		return rep, err
	case out.Passing && ours.Code == CodeStoreUnavailable:
		// The caller has waited for the store as long as he should.
		a.running.Go(func() { _, _ = a.finish(k, out, rep, err) })
		return rep, err
	default:
		return a.finish(k, out, rep, err)
	}
}

func (a *API) finish(k keeper, out store.Outcome, rep *reply, err error) (*reply, error) {
	out.Holder, out.At = k.holder, a.now()
	body := any(nil)
	if err != nil {
		body = asError(err)
	} else {
		body = rep.body
	}
	raw, fault := encode(body)
	out.Result = raw
	var row store.Request
	if fault == nil {
		row, fault = detached(a, func(ctx context.Context) (store.Request, error) { return a.Store.FinishRequest(ctx, k.id, out) })
	}
	switch {
	case fault != nil:
		// Whoever asks again joins the same update, and finds its result there.
		a.log.Warn("result was not kept", "error", fault, "request", k.id)
	case row.Done() && (row.Status != out.Status || string(row.Result) != string(raw)):
		return resultOf(row)
	}
	return rep, err
}

// release lets others carry a request out.
func (a *API) release(k keeper) {
	_, err := detached(a, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, a.Store.ReleaseRequest(ctx, k.id, k.holder)
	})
	if err != nil {
		a.log.Warn("request was not given back", "error", err, "request", k.id)
	}
}

// detached calls the store for nobody who waits.
func detached[T any](a *API, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.base), keepTimeout)
	defer cancel()
	return fromStore(ctx, a, call)
}

// renew prolongs the claims on a flight, and reports whether one of them still holds. One that cannot be asked about does.
func (a *API) renew(ctx context.Context, kept []keeper) bool {
	held := len(kept) == 0
	for _, k := range kept {
		mine, err := fromStore(ctx, a, func(ctx context.Context) (bool, error) {
			return a.Store.RenewRequest(ctx, k.id, k.holder, a.now().Add(claimFor))
		})
		held = held || mine || err != nil
	}
	return held
}

// resultOf is the answer that was kept.
func resultOf(row store.Request) (*reply, error) {
	if row.Passing {
		var failed Error
		if err := json.Unmarshal(row.Result, &failed); err != nil || kinds[failed.Code].status == 0 {
			return nil, fail(CodeInterrupted).because(err)
		}
		return nil, &failed
	}
	return &reply{status: row.Status, body: json.RawMessage(row.Result), header: http.Header{}}, nil
}
