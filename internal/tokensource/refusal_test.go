package tokensource_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

func TestARefusalAnswersThoseWhoAskTheSame(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p, other, source := r.process(nil), r.process(nil), r.refreshing()
	p.ensure(p.ask(source, 0))
	ask := p.ask(source, 1)
	ask.Verify = refuseAll
	refused := func(p *process, ask tokensource.Ask) health.Failure {
		_, err := p.Ensure(t.Context(), ask)
		return requireFailure(t, err, health.CodeInvalidToken).Failure
	}
	first := refused(p, ask)
	require.NotEmpty(t, first.Details["refusedDigest"])
	for range 4 {
		r.clock.Advance(2 * time.Second)
		require.Equal(t, first, refused(p, ask))
	}
	require.Equal(t, 2, r.server.Issued())
	for _, each := range atOnce(5, func(int) (tokensource.Outcome, error) { return p.Ensure(t.Context(), ask) }) {
		require.Equal(t, first, requireFailure(t, each.err, health.CodeInvalidToken).Failure)
	}
	require.Equal(t, 2, r.server.Issued())

	r.clock.Advance(2 * time.Second)
	require.NotEqual(t, first, refused(p, ask), "it is asked again later")
	require.Equal(t, 3, r.server.Issued())
	another := ask
	another.Revision = "of a corrected config"
	last := refused(p, another)
	require.Equal(t, 4, r.server.Issued(), "another endpoint has not refused anything")
	dropped, err := other.Drop(t.Context(), credential, source, 1)
	require.NoError(t, err)
	require.True(t, dropped)
	require.NotEqual(t, last, refused(p, another))
	require.Equal(t, 5, r.server.Issued(), "what another process distrusts makes a difference")
	_, err = p.Drop(t.Context(), credential, source, 1)
	require.NoError(t, err)
	require.NotEqual(t, last, refused(p, another))
	require.Equal(t, 6, r.server.Issued())
	require.Zero(t, r.server.Reused())
}

func TestAFileIsReadAnewHoweverItsLastTokenFared(t *testing.T) {
	t.Parallel()
	r := newRig(t, simulator.TokenServerOptions{})
	p := r.process(nil)
	path := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(path, []byte("bad"), 0o600))
	asked := 0
	ask := tokensource.Ask{
		Credential: credential, Source: desired.TokenSource{Kind: desired.SourceFile, Path: path},
		Verify: func(ctx context.Context, token string) *health.Failure {
			asked++
			if token == "good" {
				return nil
			}
			return refuseAll(ctx, token)
		},
	}
	for range 3 {
		_, err := p.Ensure(t.Context(), ask)
		requireFailure(t, err, health.CodeInvalidToken)
	}
	require.Equal(t, 3, asked, "the endpoint may have come to know it")
	require.NoError(t, os.WriteFile(path, []byte("good"), 0o600))
	require.Equal(t, int64(1), p.ensure(ask).Sequence)
	require.Equal(t, 4, asked)
}
