package cli

import (
	"context"
	"path/filepath"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// sourceFlags name where a token comes from.
type sourceFlags struct {
	variable, file        string
	url, clientID         string
	secretEnv, refreshEnv string
	scopes                []string
}

// sourceOfFlags is the token source that the flags describe; nil where they describe none. The worker reads the variable and the
// file of a token; the secrets of a client are read here, and kept sealed.
func (a *App) sourceOfFlags(ctx context.Context, f applyFlags) (*manifest.TokenSource, error) {
	s := f.source
	kinds := 0
	for _, given := range []string{s.variable, s.file, s.url} {
		if given != "" {
			kinds++
		}
	}
	switch ofGrant := s.clientID != "" || s.secretEnv != "" || s.refreshEnv != "" || len(s.scopes) > 0; {
	case kinds > 1:
		return nil, usagef("give one of --token-env, --token-file and --token-url")
	case ofGrant && s.url == "":
		return nil, usagef("--client-id, --client-secret-env, --refresh-token-env and --token-scope go with --token-url")
	case s.variable != "":
		return &manifest.TokenSource{Kind: string(desired.SourceEnv), Variable: s.variable}, nil
	case s.file != "":
		return a.fileSource(s.file)
	case s.url != "":
		return a.grantSource(ctx, s)
	default:
		return nil, nil
	}
}

func (a *App) fileSource(path string) (*manifest.TokenSource, error) {
	base, err := a.workDir()
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return &manifest.TokenSource{Kind: string(desired.SourceFile), Path: filepath.Clean(path)}, nil
}

func (a *App) grantSource(ctx context.Context, s sourceFlags) (*manifest.TokenSource, error) {
	source := &manifest.TokenSource{
		Kind: string(desired.SourceClientCredentials), TokenURL: s.url, ClientID: s.clientID, Scopes: s.scopes,
	}
	var err error
	if s.secretEnv != "" {
		if source.ClientSecret, err = a.variable(ctx, "--client-secret-env", s.secretEnv); err != nil {
			return nil, err
		}
	}
	if s.refreshEnv == "" {
		return source, nil
	}
	source.Kind = string(desired.SourceRefreshToken)
	source.RefreshToken, err = a.variable(ctx, "--refresh-token-env", s.refreshEnv)
	return source, err
}
