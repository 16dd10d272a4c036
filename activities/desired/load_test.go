package desired_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

const secret = "canary-5ecret-value"

func load(t *testing.T, p *peers.Peers, key store.Key) (desired.LoadResult, error) {
	t.Helper()
	return peers.Try[desired.LoadResult](t, desired.NewActivities(p.Resolver), desired.LoadName, desired.LoadRequest{Key: key})
}

func TestLoadTellsWhatIsWantedAndNoSecret(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	revision := p.Want(key, peers.Expecting("echo"), func(d *store.Desired) {
		d.Config.URL += "?token=" + secret
		d.Config.Headers = map[string]string{"Authorization": "Bearer " + secret, "X-Api-Key": secret}
	})
	got, err := load(t, p, key)
	require.NoError(t, err)
	require.True(t, got.Present)
	require.Equal(t, revision, got.Revision)
	require.Equal(t, peers.EngineID, got.EngineID)
	require.Equal(t, []string{"echo"}, got.ExpectedTools)
	require.Equal(t, 2000, got.TimeoutMillis)
	require.Nil(t, got.Failure)
	raw, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(raw), secret)
}

func TestLoadOfNothingIsNoError(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	got, err := load(t, p, p.Key())
	require.NoError(t, err)
	require.Equal(t, desired.LoadResult{}, got)
}

func TestCase11EqualInputGivesAnEqualRevision(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	first := p.Want(key, peers.Header("Authorization", "Bearer a"))
	other := p.Want(key, peers.Header("Authorization", "Bearer b"))
	again := p.Want(key, peers.Header("Authorization", "Bearer a"))
	require.NotEqual(t, first, other)
	require.Equal(t, first, again)
}

func TestCase30AStoredConfigThatBreaksARuleIsLoadedWithTheFailure(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	off := false
	p.Want(key, func(d *store.Desired) { d.Config.Enabled = &off })
	got, err := load(t, p, key)
	require.NoError(t, err)
	require.Equal(t, health.CodeDisabled, got.Failure.Code)
	require.Equal(t, health.StageDesiredConfig, got.Failure.Stage)
}

func TestCase45AConfigWithoutADirectoryIsAmbiguousWhereEverItWouldGo(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	key.Directory = ""
	p.Want(key)
	got, err := load(t, p, key)
	require.NoError(t, err)
	require.Equal(t, health.CodeDirectoryAmbiguous, got.Failure.Code)
	require.Equal(t, health.PhaseWorkspaceAmbiguous, health.PhaseOf(got.Failure))
}

func TestAConfigWithoutAnEngineSaysSo(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	p.Want(key, func(d *store.Desired) { d.EngineID = "" })
	got, err := load(t, p, key)
	require.NoError(t, err)
	require.Equal(t, health.CodeEngineUnconfigured, got.Failure.Code)
}

func TestTheFailureThatComesFirstIsTold(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	key.Directory = ""
	p.Want(key, func(d *store.Desired) { d.EngineID, d.Config.Enabled = "", nil })
	got, err := load(t, p, key)
	require.NoError(t, err)
	require.Equal(t, health.CodeDisabled, got.Failure.Code)
}

func TestACorruptRowIsNamedAndNeverReadsAsEmpty(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	p.Want(key)
	p.Damage(`UPDATE connection_desired SET config = zeroblob(80)`)
	_, err := load(t, p, key)
	f := peers.RequireFailure(t, err, health.CodeDesiredUnreadable)
	require.False(t, f.Retryable, "only a person can mend it")
	require.Contains(t, f.Cause(), "w1/cloud in "+key.Directory)
	require.Contains(t, f.Cause(), "connection_desired")
}

// deaf is a store that does not answer.
type deaf struct{}

func (deaf) Effective(context.Context, store.Key) (store.Effective, error) {
	return store.Effective{}, errors.New("database is locked")
}

func (deaf) Token(context.Context, string) (store.Token, error) {
	return store.Token{}, errors.New("database is locked")
}

func TestAStoreThatDoesNotAnswerMayAnswerLater(t *testing.T) {
	t.Parallel()
	activities := desired.NewActivities(desired.NewResolver(deaf{}, nil))
	_, err := peers.Try[desired.LoadResult](t, activities, desired.LoadName, desired.LoadRequest{})
	require.True(t, peers.RequireFailure(t, err, health.CodeDesiredUnreadable).Retryable)
}

func TestAPushAlwaysHasATimeout(t *testing.T) {
	t.Parallel()
	require.Equal(t, domain.DefaultTimeout, desired.PushTimeout(domain.Config{}))
	require.Equal(t, int64(250), desired.PushTimeout(domain.Config{TimeoutMillis: 250}).Milliseconds())
}
