package desired

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

const headerAuthorization = "Authorization"

// authorize puts the current token into the headers. Without one that may be used the headers have none, and the sequence
// of the view is 0. Every call reads the store: what one process drops is dropped for all of them.
func (r *Resolver) authorize(ctx context.Context, got *Resolved) error {
	source := got.TokenSource
	if !source.Mints() {
		got.Config.Headers = withToken(got.Config.Headers, source.Value)
		return nil
	}
	got.Token = &TokenView{Source: string(source.Kind)}
	got.Config.Headers = withToken(got.Config.Headers, "")
	digest, err := tokensource.Digest(r.mac, *source)
	if err != nil {
		return unreadable(err)
	}
	got.TokenKey = tokensource.Key(got.Credential, digest)
	row, err := r.store.Token(ctx, got.TokenKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	var corrupt *store.CorruptRowError
	if errors.As(err, &corrupt) {
		// Another mint replaces the row.
		return nil
	}
	if err != nil {
		return unreadable(fmt.Errorf("read the token that is stored: %w", err))
	}
	if !usable(row, digest, r.now()) {
		return nil
	}
	got.Config.Headers = withToken(got.Config.Headers, row.AccessToken)
	got.Token.Sequence = row.Sequence
	got.Token.ExpiresAt, got.Token.RenewAt = moment(row.ExpiresAt), moment(row.RenewAt)
	return nil
}

// usable reports whether a token may be sent: of this very source, not distrusted, and not expired.
func usable(row store.Token, digest string, now time.Time) bool {
	return row.AccessToken != "" && !row.Dropped && row.SourceDigest == digest &&
		(row.ExpiresAt.IsZero() || now.Before(row.ExpiresAt))
}

// HeadersWith are the headers with another token than the current one.
func (r Resolved) HeadersWith(token string) map[string]string {
	return withToken(r.Config.Headers, token)
}

// withToken gives the headers a bearer token in place of whatever authorization they have; an empty token takes it away.
func withToken(headers map[string]string, token string) map[string]string {
	given := make(map[string]string, len(headers)+1)
	maps.Copy(given, headers)
	for name := range headers {
		if strings.EqualFold(name, headerAuthorization) {
			delete(given, name)
		}
	}
	if token != "" {
		given[headerAuthorization] = "Bearer " + token
	}
	return given
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// BearerToken is the token that is sent; empty where none is. It is a secret.
func (r Resolved) BearerToken() string {
	token, _ := strings.CutPrefix(r.Config.Headers[headerAuthorization], "Bearer ")
	return token
}
