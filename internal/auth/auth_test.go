package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/auth"
	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// counting notes how often a use was written.
type counting struct {
	auth.Store

	touched chan time.Time
	fault   error
}

func (c *counting) TouchAPIToken(ctx context.Context, id string, at time.Time) error {
	c.touched <- at
	return c.Store.TouchAPIToken(ctx, id, at)
}

func (c *counting) APITokenByID(ctx context.Context, id string) (store.APIToken, error) {
	if c.fault != nil {
		return store.APIToken{}, c.fault
	}
	return c.Store.APITokenByID(ctx, id)
}

// clock stands still until a test moves it.
type clock struct{ at time.Time }

func (c *clock) Now() time.Time          { return c.at }
func (c *clock) Advance(d time.Duration) { c.at = c.at.Add(d) }

func open(t *testing.T) (*auth.Tokens, *counting, *clock) {
	t.Helper()
	keyset, err := keys.Open(filepath.Join(t.TempDir(), "keys"))
	require.NoError(t, err)
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "holdfast.db"), Keys: keyset})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	kept, now := &counting{Store: s, touched: make(chan time.Time, 100)}, &clock{at: time.Now().Truncate(time.Second)}
	tokens := auth.NewTokens(kept, now.Now)
	t.Cleanup(tokens.Close)
	return tokens, kept, now
}

func make1(t *testing.T, tokens *auth.Tokens, r auth.Request) (string, store.APIToken) {
	t.Helper()
	secret, row, err := tokens.Create(t.Context(), r)
	require.NoError(t, err)
	return secret.Reveal(), row
}

func TestARoleMayDoWhatTheLesserOnesMay(t *testing.T) {
	t.Parallel()
	roles := auth.Roles()
	for i, has := range roles {
		for j, needs := range roles {
			require.Equal(t, i >= j, has.Allows(needs), "%s for %s", has, needs)
		}
		for _, none := range []auth.Role{"", "root", "OWNER"} {
			require.False(t, has.Allows(none), "a need that is none is never met")
			require.False(t, none.Allows(has))
		}
	}
	_, err := auth.ParseRole("root")
	require.ErrorContains(t, err, "viewer")
	role, err := auth.ParseRole("owner")
	require.NoError(t, err)
	require.Equal(t, auth.RoleOwner, role)
}

func TestNobodyInAContextMayDoNothing(t *testing.T) {
	t.Parallel()
	require.False(t, auth.From(t.Context()).Role.Allows(auth.RoleViewer))
	require.Equal(t, auth.Local(), auth.From(auth.With(t.Context(), auth.Local())))
}

func TestATokenLetsItsOwnerIn(t *testing.T) {
	t.Parallel()
	tokens, _, _ := open(t)
	text, row := make1(t, tokens, auth.Request{Name: "ci", Role: auth.RoleCollaborator, By: "cli"})
	require.Regexp(t, `^hft_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$`, text)
	who, err := tokens.Authenticate(t.Context(), text)
	require.NoError(t, err)
	require.Equal(t, auth.Principal{
		ID: "token:" + row.ID, Name: "ci", Role: auth.RoleCollaborator,
		Identity: approval.Identity{Account: "token:" + row.ID, Organisation: auth.DefaultOrganisation},
	}, who)
}

func TestTokensOfOneAccountAreOfOneIdentity(t *testing.T) {
	t.Parallel()
	tokens, _, _ := open(t)
	for range 2 {
		text, row := make1(t, tokens, auth.Request{Name: "ci", Role: auth.RoleViewer, Account: "ann"})
		require.Equal(t, "ann", row.Account)
		who, err := tokens.Authenticate(t.Context(), text)
		require.NoError(t, err)
		require.Equal(t, "token:"+row.ID, who.ID, "whoever does something is known by the token")
		require.Equal(t, approval.Identity{Account: "ann", Organisation: auth.DefaultOrganisation}, who.Identity)
	}
}

func TestWhateverIsWrongWithATokenTheAnswerIsTheSame(t *testing.T) {
	t.Parallel()
	tokens, _, clock := open(t)
	text, _ := make1(t, tokens, auth.Request{Name: "a", Role: auth.RoleOwner})
	other, _ := make1(t, tokens, auth.Request{Name: "b", Role: auth.RoleOwner})
	brief, _ := make1(t, tokens, auth.Request{Name: "c", Role: auth.RoleOwner, ExpiresIn: time.Hour})
	revoked, row := make1(t, tokens, auth.Request{Name: "d", Role: auth.RoleOwner})
	_, err := tokens.Authenticate(t.Context(), brief)
	require.NoError(t, err)
	require.NoError(t, tokens.Revoke(t.Context(), row.ID))
	clock.Advance(time.Hour)
	id := strings.Split(text, "_")[1]
	for name, shown := range map[string]string{
		"nothing": "", "a word": "hft", "no secret": "hft_" + id, "empty secret": "hft_" + id + "_",
		"the secret of another": "hft_" + id + "_" + strings.SplitN(other, "_", 3)[2],
		"an id that is none":    "hft_0000000000000000_" + strings.SplitN(text, "_", 3)[2],
		"cut":                   text[:len(text)-1], "longer": text + "A", "other prefix": "x" + text[1:],
		"expired": brief, "revoked": revoked,
	} {
		_, err := tokens.Authenticate(t.Context(), shown)
		require.ErrorIs(t, err, auth.ErrUnauthorized, name)
		require.Equal(t, auth.ErrUnauthorized.Error(), err.Error(), name)
	}
}

func TestAStoreThatCannotSayIsNoRefusal(t *testing.T) {
	t.Parallel()
	tokens, kept, _ := open(t)
	text, _ := make1(t, tokens, auth.Request{Name: "a", Role: auth.RoleOwner})
	kept.fault = errors.New("disk gone")
	who, err := tokens.Authenticate(t.Context(), text)
	require.ErrorContains(t, err, "disk gone")
	require.NotErrorIs(t, err, auth.ErrUnauthorized)
	require.Empty(t, who.Role, "and lets nobody in")
}

func TestTheLastUseIsWrittenOnceAMinute(t *testing.T) {
	t.Parallel()
	tokens, kept, clock := open(t)
	text, row := make1(t, tokens, auth.Request{Name: "a", Role: auth.RoleViewer})
	for range 3 {
		for range 10 {
			_, err := tokens.Authenticate(t.Context(), text)
			require.NoError(t, err)
		}
		clock.Advance(time.Minute)
	}
	tokens.Close()
	require.Len(t, kept.touched, 3)
	rows, err := tokens.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, row.ID, rows[0].ID)
	require.Equal(t, clock.Now().Add(-time.Minute).UTC(), rows[0].LastUsedAt.UTC())
}

func TestASecretShowsItselfOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	tokens, _, _ := open(t)
	secret, row, err := tokens.Create(t.Context(), auth.Request{Name: "a", Role: auth.RoleOwner})
	require.NoError(t, err)
	hidden := strings.SplitN(secret.Reveal(), "_", 3)[2]
	raw, err := json.Marshal(map[string]any{"secret": secret, "row": row})
	require.NoError(t, err)
	shown := string(raw) + fmt.Sprintf("%v %+v %#v %s", secret, secret, secret, secret)
	require.NotContains(t, shown, hidden)
	require.Contains(t, shown, secret.ID())
}

func TestRequestsThatCannotBeMetSayWhy(t *testing.T) {
	t.Parallel()
	tokens, _, _ := open(t)
	for _, tc := range []auth.Request{
		{Role: auth.RoleOwner},
		{Name: " ", Role: auth.RoleOwner},
		{Name: "a\nb", Role: auth.RoleOwner},
		{Name: strings.Repeat("x", auth.MaxNameBytes+1), Role: auth.RoleOwner},
		{Name: "a"},
		{Name: "a", Role: "root"},
		{Name: "a", Role: auth.RoleOwner, ExpiresIn: -time.Second},
		{Name: "a", Role: auth.RoleOwner, Account: "a\x00b"},
		{Name: "a", Role: auth.RoleOwner, Account: " a"},
		{Name: "a", Role: auth.RoleOwner, Account: strings.Repeat("x", auth.MaxAccountBytes+1)},
	} {
		_, _, err := tokens.Create(t.Context(), tc)
		var wrong *auth.RequestError
		require.ErrorAs(t, err, &wrong, "%+v", tc)
	}
	rows, err := tokens.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestRevokingIsForGoodAndMayBeRepeated(t *testing.T) {
	t.Parallel()
	tokens, _, _ := open(t)
	_, mine := make1(t, tokens, auth.Request{Name: "a", Role: auth.RoleOwner, By: "dev"})
	kept, _ := make1(t, tokens, auth.Request{Name: "b", Role: auth.RoleOwner, By: "cli"})
	live, err := tokens.AnyLive(t.Context())
	require.NoError(t, err)
	require.True(t, live)
	require.NoError(t, tokens.RevokeBy(t.Context(), "dev"))
	require.NoError(t, tokens.Revoke(t.Context(), mine.ID))
	require.ErrorIs(t, tokens.Revoke(t.Context(), "0000000000000000"), auth.ErrNoToken)
	who, err := tokens.Authenticate(t.Context(), kept)
	require.NoError(t, err)
	require.NoError(t, tokens.Revoke(t.Context(), strings.TrimPrefix(who.ID, "token:")))
	live, err = tokens.AnyLive(t.Context())
	require.NoError(t, err)
	require.False(t, live)
}
