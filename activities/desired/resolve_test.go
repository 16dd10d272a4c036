package desired_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/activities/desired"
	domain "github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/testkit/peers"
)

func resolve(t *testing.T, p *peers.Peers, key store.Key) desired.Resolved {
	t.Helper()
	got, err := p.Resolver.Resolve(t.Context(), key)
	require.NoError(t, err)
	return got
}

func fromVariable(variable string) func(*store.Desired) {
	return func(d *store.Desired) {
		d.Config.Headers = map[string]string{"authorization": "Bearer left-over", "X-Team": "a"}
		peers.FromVariable(variable)(d)
	}
}

func TestTheCurrentTokenTakesThePlaceOfWhateverAuthorizationIsGiven(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	revision := p.Want(key, fromVariable("TEAM_TOKEN"))
	got := resolve(t, p, key)
	require.Nil(t, got.Failure)
	require.Equal(t, map[string]string{"X-Team": "a"}, got.Config.Headers, "without a token none is sent")
	require.Zero(t, got.Token.Sequence)
	require.Equal(t, revision, got.Revision)

	expires := p.Clock.Now().Add(time.Hour)
	p.PutToken(key, store.Token{AccessToken: secret, ExpiresAt: expires})
	got = resolve(t, p, key)
	require.Equal(t, map[string]string{"X-Team": "a", "Authorization": "Bearer " + secret}, got.Config.Headers)
	require.Equal(t, int64(1), got.Token.Sequence)
	require.WithinDuration(t, expires, *got.Token.ExpiresAt, time.Millisecond)
	require.Equal(t, revision, got.Revision, "a token is no other config")
}

func TestATokenThatMayNotBeSentIsNot(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		token store.Token
		drop  bool
		other bool
	}{
		"expired":            {token: store.Token{ExpiresAt: peers.NewClock().Now().Add(-time.Second)}},
		"distrusted":         {drop: true},
		"of another source":  {other: true},
		"expires right away": {token: store.Token{ExpiresAt: peers.NewClock().Now()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := peers.New(t, peers.Options{})
			key := p.Key()
			p.Want(key, fromVariable("TEAM_TOKEN"))
			tc.token.AccessToken = secret
			p.PutToken(key, tc.token)
			if tc.drop {
				p.DropToken(key)
			}
			if tc.other {
				p.Want(key, fromVariable("OTHER"))
			}
			got := resolve(t, p, key)
			require.NotContains(t, got.Config.Headers, "Authorization")
			require.Zero(t, got.Token.Sequence)
		})
	}
}

func TestATokenThatCannotBeReadIsToldInFull(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	p.Want(key, fromVariable("TEAM_TOKEN"))
	p.Damage(`DROP TABLE credential_token`)
	_, err := p.Resolver.Resolve(t.Context(), key)
	f := peers.RequireFailure(t, err, health.CodeDesiredUnreadable)
	require.Contains(t, f.Cause(), "no such table")
	require.NotContains(t, f.Cause(), redact.Marker, "our own words are taken for a secret")
}

func TestALiteralSourceIsSentAsItIs(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	p.Want(key, func(d *store.Desired) {
		d.TokenSource = &domain.TokenSource{Kind: domain.SourceLiteral, Value: secret}
	})
	got := resolve(t, p, key)
	require.Equal(t, "Bearer "+secret, got.Config.Headers["Authorization"])
	require.Nil(t, got.Token, "there is nothing to mint")
}

func TestASourceThatBreaksARuleIsAFailureAndNoDelivery(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	p.Want(key, func(d *store.Desired) { d.TokenSource = &domain.TokenSource{Kind: domain.SourceFile, Path: "relative"} })
	got, err := load(t, p, key)
	require.NoError(t, err)
	require.Equal(t, health.CodeTokenSourceInvalid, got.Failure.Code)
}

func TestWhatAPersonSwitchedOffIsWantedOffAndWhatWasRemovedIsNotWanted(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	on := p.Want(key)
	intend := func(kind store.IntentKind) {
		_, err := p.Store.PutIntent(t.Context(), store.Intent{Workspace: key.Workspace, Name: key.Name, Kind: kind})
		require.NoError(t, err)
	}
	intend(store.IntentDisabled)
	got, err := load(t, p, key)
	require.NoError(t, err)
	require.Equal(t, health.CodeDisabled, got.Failure.Code)
	require.NotEqual(t, on, got.Revision, "whatever delivers the one that was on finds another wanted")

	intend(store.IntentEnabled)
	got, err = load(t, p, key)
	require.NoError(t, err)
	require.Nil(t, got.Failure)
	require.Equal(t, on, got.Revision)

	intend(store.IntentRemoved)
	got, err = load(t, p, key)
	require.NoError(t, err)
	require.False(t, got.Present)
}

func TestWhatAPersonSwitchedOffTellsWhoDidItAndHowToUndoIt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for claim, tc := range map[string]struct {
		intent store.Intent
		told   []string
		undo   string
	}{
		"for the workspace": {
			intent: store.Intent{By: "cli:jane", Reason: "rotating, password=" + secret, UpdatedAt: at},
			told:   []string{"for workspace ", "by cli:jane", "2026-03-04 05:06:07 UTC", "rotating"},
			undo:   "holdfast connection enable ",
		},
		"for the account": {
			intent: store.Intent{Account: "acme", By: "ops", UpdatedAt: at},
			told:   []string{"for account acme", "by ops", "no reason"},
			undo:   "holdfast account enable acme/",
		},
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			p := peers.New(t, peers.Options{})
			key := p.Key()
			p.Want(key)
			_, err := p.Store.PutWorkspace(t.Context(), store.Workspace{
				ID: key.Workspace, Directory: key.Directory, EngineID: peers.EngineID, Account: "acme",
			})
			require.NoError(t, err)
			intent := tc.intent
			intent.Name, intent.Kind = key.Name, store.IntentDisabled
			if intent.Account == "" {
				intent.Workspace = key.Workspace
			}
			_, err = p.Store.PutIntent(t.Context(), intent)
			require.NoError(t, err)
			f := resolve(t, p, key).Failure
			require.Equal(t, health.CodeDisabled, f.Code)
			require.Equal(t, health.StageDesiredConfig, f.Stage)
			require.Equal(t, []string{health.AliasDisabled}, f.Aliases)
			for _, told := range tc.told {
				require.Contains(t, f.Message, told)
			}
			require.NotContains(t, f.Message, secret)
			require.Contains(t, f.RecommendedAction, tc.undo)
			require.Contains(t, f.RecommendedAction, "/"+key.Name)
		})
	}
}

func TestAConfigThatSaysOffIsToldFromADecision(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	p.Want(key, func(d *store.Desired) {
		off := false
		d.Config.Enabled = &off
	})
	f := resolve(t, p, key).Failure
	require.Equal(t, health.CodeDisabled, f.Code)
	require.Contains(t, f.Message, "its own desired config")
	require.Contains(t, f.RecommendedAction, "enabled: true")
	require.Contains(t, f.RecommendedAction, "holdfast connection enable")
}

func TestTheSharedConfigOfAnAccountWinsAndIsToldAsShared(t *testing.T) {
	t.Parallel()
	p := peers.New(t, peers.Options{})
	key := p.Key()
	own := p.Want(key)
	_, err := p.Store.PutWorkspace(t.Context(), store.Workspace{
		ID: key.Workspace, Directory: key.Directory, EngineID: peers.EngineID, Account: "acme",
	})
	require.NoError(t, err)
	on := true
	_, err = p.Store.PutAccountDesired(t.Context(), store.AccountDesired{
		Account: "acme", Name: key.Name, Profile: domain.ProfileGeneric,
		Config: domain.Config{Type: "remote", URL: p.Endpoint.URL() + "?shared", Enabled: &on},
	})
	require.NoError(t, err)
	got, err := load(t, p, key)
	require.NoError(t, err)
	require.Equal(t, "acme", got.Account)
	require.NotEqual(t, own, got.Revision)
}
