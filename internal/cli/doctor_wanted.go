package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	activity "github.com/holdfast-mcp/holdfast/activities/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const (
	gatewayTimeout = 2 * time.Second
	tokenTimeout   = 5 * time.Second
)

// wish is a config that is wanted, once for all connections that share it.
type wish struct {
	name string // of the connection, or of the shared config
	key  store.Key
	store.Effective
}

// wishes reads what is wanted. A row that cannot be read is a finding.
func (s *session) wishes(ctx context.Context, found *findings) []wish {
	keys, err := s.opened.Keys(ctx)
	if err != nil {
		found.fail("store", storeAction(err), "%v", err)
		return nil
	}
	known := map[string]bool{}
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
		if known[id] {
			continue
		}
		known[id] = true
		one := wish{name: short(key.Key), key: key.Key, Effective: want}
		if want.Shared && !off {
			one.name = key.Name + " of account " + want.Account
		}
		all = append(all, one)
	}
	return all
}

// examineWanted asks every MCP server that is wanted, with the headers that the engine uses, and every source of tokens.
func (s *session) examineWanted(ctx context.Context, found *findings) {
	all := s.wishes(ctx, found)
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
		one.warn(subject, "start a worker: it mints one; then see: holdfast connection get "+short(of.key),
			"is not asked: there is no token that may be used")
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
		message := f.Error() + " at " + r.Trace.Endpoint
		if cause := f.Cause(); cause != "" {
			message += ": " + cause
		}
		one.fail(subject, endpointAction(*f), "%s", message)
		return
	}
	one.ok(subject, "%d tools listed in %d ms at %s", r.ToolCount, r.Trace.LatencyMillis, r.Trace.Endpoint)
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

// examineSource looks at a token source without minting: a mint may take the token of a connection that is well.
func (s *session) examineSource(ctx context.Context, of wish, one *findings) {
	source, subject := of.TokenSource, "token of "+of.name
	if source == nil {
		return
	}
	if f := source.Validate(); f != nil {
		one.fail(subject, f.RecommendedAction, "%s: %s", f.Error(), f.Cause())
		return
	}
	switch source.Kind {
	case desired.SourceEnv:
		if !s.app.environment().set(source.Variable) {
			one.info(subject, "set it where the workers run; here it does not have to be",
				"the variable %s is not set in this environment", source.Variable)
			return
		}
		one.ok(subject, "the variable %s is set here, too", source.Variable)
	case desired.SourceFile:
		if _, err := patiently(ctx, func() (string, error) { return readSecret(source.Path) }); err != nil {
			one.fail(subject, "write the token into it, and let the workers' user read it", "file %s: %v", source.Path, err)
			return
		}
		one.ok(subject, "the file %s can be read", source.Path)
	case desired.SourceClientCredentials, desired.SourceRefreshToken:
		s.examineGrant(ctx, of, subject, one)
	case desired.SourceLiteral:
	}
}

// examineGrant looks whether the token endpoint answers at all. Whether it takes the client shows in the connection's failure.
func (s *session) examineGrant(ctx context.Context, of wish, subject string, one *findings) {
	at, err := url.Parse(of.TokenSource.TokenURL)
	if err != nil {
		one.fail(subject, "correct tokenUrl", "tokenUrl is no URL")
		return
	}
	client := httpclient.New(httpclient.Options{Timeout: tokenTimeout})
	defer client.Close()
	_, err = client.Do(ctx, httpclient.Request{Op: "ask the token endpoint", URL: at})
	var fault *httpclient.Error
	if errors.As(err, &fault) && fault.Status == 0 {
		one.fail(subject, "start the token endpoint, or correct tokenUrl and apply again", "%v", err)
		return
	}
	row, err := s.opened.Token(ctx, of.Credential)
	switch {
	case errors.Is(err, store.ErrNotFound):
		one.info(subject, "nothing where no worker has run yet; else see: holdfast connection list --state failed",
			"the token endpoint answers at %s; nothing was minted yet", at.Host)
	case err != nil:
		one.warn(subject, "nothing: the next mint writes it anew", "%v", err)
	case !row.ExpiresAt.IsZero() && time.Now().After(row.ExpiresAt):
		one.warn(subject, "start a worker; where one runs see: holdfast connection list --state failed",
			"the last token expired at %s, and no other was minted", clock(&row.ExpiresAt))
	default:
		one.ok(subject, "the token endpoint answers at %s; the last token was minted at %s", at.Host, clock(&row.MintedAt))
	}
}

// gatewayURL is where a gateway that listens on an address can be asked from this machine.
func gatewayURL(listen string) *url.URL {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || (ip != nil && ip.IsUnspecified())) {
		host = "127.0.0.1"
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/healthz"}
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
