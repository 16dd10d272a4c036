package cli

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

const tokenTimeout = 5 * time.Second

// examineSource looks at a token source without minting: a mint may take the token of a connection that is well.
func (s *session) examineSource(ctx context.Context, of wish, one *findings) {
	source, subject := of.TokenSource, "token of "+of.name
	if source == nil {
		return
	}
	if f := source.Validate(); f != nil {
		one.fail(subject, f.RecommendedAction, "%s: %s", sentence(*f), f.Cause())
		return
	}
	if of.minting != nil {
		s.examineWorkersSource(*source.Redacted(), *of.minting, subject, one)
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

// examineWorkersSource tells of a source that gave a worker no token. How it looks from here says nothing about that.
func (s *session) examineWorkersSource(source desired.RedactedTokenSource, f health.Failure, subject string, one *findings) {
	what, next := string(source.Kind)+" from "+source.TokenURL, f.RecommendedAction
	switch source.Kind {
	case desired.SourceEnv:
		what = "the variable " + source.Variable
		next = "set " + source.Variable + " to the token where the worker runs, and start the worker anew"
	case desired.SourceFile:
		what = "the file " + source.Path
		next = "write the token into " + source.Path + " where the worker runs, and let its user read it"
	case desired.SourceClientCredentials, desired.SourceRefreshToken, desired.SourceLiteral:
	}
	message := "the worker gets no token by " + what + ": " + sentence(f)
	if cause := f.Cause(); cause != "" {
		message += ": " + cause
	}
	one.fail(subject, next, "%s", message)
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
	row, err := s.lastToken(ctx, of)
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

// lastToken is what was minted last from the source that is wanted.
func (s *session) lastToken(ctx context.Context, of wish) (store.Token, error) {
	keyset, err := s.keys()
	if err != nil {
		return store.Token{}, err
	}
	digest, err := tokensource.Digest(keyset.MAC(), *of.TokenSource)
	if err != nil {
		return store.Token{}, err
	}
	return s.opened.Token(ctx, tokensource.Key(of.Credential, digest))
}
