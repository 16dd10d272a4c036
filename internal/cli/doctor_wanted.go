package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	activity "github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// wish is a config that is wanted, once for all connections that share it.
type wish struct {
	name string // of the connection, or of the shared config
	key  store.Key
	store.Effective

	// minting is what a worker has failed with at the source of the token; nil where it has not.
	minting *health.Failure
}

// wishes reads what is wanted. A row that cannot be read is a finding.
func (s *session) wishes(ctx context.Context, failed map[store.Key]health.Failure, found *findings) []wish {
	keys, err := s.opened.Keys(ctx)
	if err != nil {
		found.fail("store", storeAction(err), "%v", err)
		return nil
	}
	known := map[string]int{}
	var all []wish
	for _, key := range keys {
		want, err := s.opened.Effective(ctx, key.Key)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && want.Removed:
			continue // gone meanwhile
		case err != nil:
			found.fail("store", storeAction(err), "%v", err)
			continue
		}
		off := want.Config.Enabled != nil && !*want.Config.Enabled
		id := fmt.Sprint(want.Credential, off)
		at, again := known[id]
		if !again {
			at = len(all)
			known[id], all = at, append(all, newWish(key.Key, want, off))
		}
		if f, ill := failed[key.Key]; ill && f.Stage == health.StageTokenMint {
			all[at].minting = &f
		}
	}
	return all
}

func newWish(key store.Key, want store.Effective, off bool) wish {
	one := wish{name: short(key), key: key, Effective: want}
	if want.Shared && !off {
		one.name = key.Name + " of account " + want.Account
	}
	return one
}

// examineWanted asks every MCP server that is wanted, with the headers that the engine uses, and every source of tokens.
func (s *session) examineWanted(ctx context.Context, failed map[store.Key]health.Failure, found *findings) {
	all := s.wishes(ctx, failed, found)
	resolver := activity.NewResolver(s.opened, s.keyset.MAC())
	inOrder(len(all), found, func(i int) []finding {
		one := &findings{}
		s.examineSource(ctx, all[i], one)
		s.examineEndpoint(ctx, resolver, all[i], one)
		return one.list
	})
}

func (s *session) examineEndpoint(ctx context.Context, resolver *activity.Resolver, of wish, one *findings) {
	subject := "endpoint of " + of.name
	if of.Config.Enabled != nil && !*of.Config.Enabled {
		one.ok(subject, "is wanted switched off")
		return
	}
	want, err := resolver.Resolve(ctx, of.key)
	if err != nil {
		one.fail(subject, storeAction(err), "%v", err)
		return
	}
	if f := want.Failure; f != nil {
		one.fail(subject, f.RecommendedAction, "%s", f.Error())
		return
	}
	if want.Token != nil && want.Token.Sequence == 0 {
		next := "start a worker: it mints one; then see: holdfast connection get " + short(of.key)
		if of.minting != nil {
			next = "do what is said of its token"
		}
		one.warn(subject, next, "is not asked: there is no token that may be used")
		return
	}
	r := mcpprobe.Probe(ctx, mcpprobe.Target{
		URL: want.Config.URL, Headers: want.Config.Headers, RequestTimeout: s.settings.Endpoint.Timeout,
		Expected: desired.ExpectedTools(want.Profile, want.Metadata),
	})
	if f := r.Failure; f != nil {
		if r.Unreachable {
			unreachable := health.EndpointUnreachable(f.Cause(), nil)
			f = &unreachable
		}
		message := sentence(*f) + lacking(*f) + " at " + r.Trace.Endpoint
		if cause := f.Cause(); cause != "" {
			message += ": " + cause
		}
		one.fail(subject, endpointAction(*f), "%s", message)
		return
	}
	one.ok(subject, "%s listed in %d ms at %s", count(r.ToolCount, "tool"), r.Trace.LatencyMillis, r.Trace.Endpoint)
}

// endpointAction says what to do about a certificate, which no waiting mends.
func endpointAction(f health.Failure) string {
	cause := strings.ToLower(f.Cause())
	for _, word := range []string{"certificate", "x509", "tls"} {
		if strings.Contains(cause, word) {
			return "Give the MCP server a certificate of its own name that engine and workers trust, or correct the URL."
		}
	}
	return f.RecommendedAction
}

// inOrder runs n checks, some at once, and adds what they find in their order.
func inOrder(n int, found *findings, check func(i int) []finding) {
	results := make([][]finding, n)
	group := errgroup.Group{}
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error {
			results[i] = check(i)
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	for _, r := range results {
		found.add(r...)
	}
}
