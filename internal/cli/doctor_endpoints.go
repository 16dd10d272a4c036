package cli

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/mcpprobe"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// examineEngines asks the engines in the store and the ones whose normal URLs are given.
func (s *session) examineEngines(ctx context.Context, named []string, found *findings) {
	var engines []store.Engine
	if s.opened != nil {
		var err error
		if engines, err = s.opened.Engines(ctx); err != nil {
			for _, one := range unjoin(err) {
				found.fail("engines", "", "%v", one)
			}
		}
	}
	known := map[string]bool{}
	for _, e := range engines {
		known[e.BaseURL] = true
	}
	for _, normal := range named {
		if !known[normal] {
			known[normal] = true
			engines = append(engines, store.Engine{ID: manifest.EngineID(normal), BaseURL: normal})
		}
	}
	inOrder(len(engines), found, func(i int) []finding { return []finding{s.examineEngine(ctx, engines[i])} })
}

func (s *session) examineEngine(ctx context.Context, e store.Engine) finding {
	subject := "engine " + e.ID
	const action = "start it, or correct its address or credentials: holdfast connection apply"
	client, err := engineapi.New(engineapi.Options{
		BaseURL: e.BaseURL, Username: e.Username, Password: e.Password, Timeout: s.settings.Engine.Timeout,
	})
	if err != nil {
		return finding{Level: levelFail, Subject: subject, Message: err.Error(), Action: action}
	}
	defer client.Close()
	h, err := client.Health(ctx)
	switch {
	case err != nil:
		return finding{Level: levelFail, Subject: subject, Message: err.Error(), Action: action}
	case !h.Healthy:
		return finding{Level: levelFail, Subject: subject, Message: "says that it is not healthy", Action: "restart it"}
	default:
		return finding{Level: levelOK, Subject: subject, Message: fmt.Sprintf("version %s answers at %s", h.Version, e.BaseURL)}
	}
}

// examineEndpoints asks every MCP server that is wanted, with the headers that the engine uses.
func (s *session) examineEndpoints(ctx context.Context, found *findings) {
	wanted, err := s.opened.ListDesired(ctx, store.Filter{})
	if err != nil {
		for _, one := range unjoin(err) {
			found.fail("store", "", "%v", one)
		}
	}
	inOrder(len(wanted), found, func(i int) []finding { return []finding{s.examineEndpoint(ctx, wanted[i])} })
}

func (s *session) examineEndpoint(ctx context.Context, want store.Desired) finding {
	subject := "endpoint of " + short(want.Key)
	if want.Config.Enabled != nil && !*want.Config.Enabled {
		return finding{Level: levelOK, Subject: subject, Message: "is wanted switched off"}
	}
	if f := desired.Validate(want.Profile, want.Config, want.Metadata); f != nil {
		return finding{Level: levelFail, Subject: subject, Message: f.Error(), Action: f.RecommendedAction}
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
		return finding{Level: levelFail, Subject: subject, Message: message, Action: f.RecommendedAction}
	}
	return finding{
		Level: levelOK, Subject: subject,
		Message: fmt.Sprintf("%d tools listed in %d ms at %s", r.ToolCount, r.Trace.LatencyMillis, r.Trace.Endpoint),
	}
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
