package tokensource_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/tokensource"
)

// jwt is a token with the shape of a JWT and these claims.
func jwt(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none"}`)) + "." + part([]byte(claims)) + ".c2ln"
}

// mintLocal mints from a description, with an environment and a clock that stands on monday.
func mintLocal(t *testing.T, d desired.TokenSource, env map[string]string) (tokensource.Minted, error) {
	t.Helper()
	sources := tokensource.NewSources(tokensource.Options{
		Now:       func() time.Time { return monday },
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	t.Cleanup(sources.Close)
	source, err := sources.For(d)
	require.NoError(t, err)
	return source.Mint(t.Context(), tokensource.Previous{})
}

func TestAVariableOfTheEnvironmentIsRead(t *testing.T) {
	t.Parallel()
	env := desired.TokenSource{Kind: desired.SourceEnv, Variable: "TOKEN"}
	got, err := mintLocal(t, env, map[string]string{"TOKEN": " opaque-token\n"})
	require.NoError(t, err)
	require.Equal(t, tokensource.Minted{AccessToken: "opaque-token"}, got)
	for name, value := range map[string]string{"blank": " \n", "two lines": "canary-one\ncanary-two", "a sentence": "canary with blanks"} {
		_, err := mintLocal(t, env, map[string]string{"TOKEN": value})
		f := requireFailure(t, err, health.CodeTokenSourceInvalid)
		require.NotContains(t, fmt.Sprintf("%v %+v", err, f.Failure), "canary", name)
		require.Equal(t, health.StageTokenMint, f.Failure.Stage)
		require.False(t, f.Failure.Retryable)
	}
	_, err = mintLocal(t, env, nil)
	f := requireFailure(t, err, health.CodeTokenSourceInvalid)
	require.Equal(t, "the environment variable TOKEN is not set where the worker runs", f.Failure.Cause())
	require.Equal(t, "Set TOKEN to the token where the worker runs, and start the worker anew.", f.Failure.RecommendedAction)
}

func TestAJWTTellsItsExpiryWithoutBeingVerified(t *testing.T) {
	t.Parallel()
	exp := monday.Add(time.Hour).Unix()
	for name, tc := range map[string]struct {
		token string
		want  time.Time
	}{
		"ahead":             {jwt(fmt.Sprintf(`{"exp":%d}`, exp)), monday.Add(time.Hour)},
		"with a fraction":   {jwt(fmt.Sprintf(`{"exp":%d.5}`, exp)), monday.Add(time.Hour)},
		"padded":            {strings.Replace(jwt(`{"exp":`+fmt.Sprint(exp)+`,"a":1}`), ".c2ln", "=.c2ln", 1), monday.Add(time.Hour)},
		"past":              {jwt(`{"exp":1000}`), time.Time{}},
		"absent":            {jwt(`{"sub":"x"}`), time.Time{}},
		"not a number":      {jwt(`{"exp":"soon"}`), time.Time{}},
		"beyond all bounds": {jwt(`{"exp":1e300}`), time.Time{}},
		"no json":           {"a.b.c", time.Time{}},
		"opaque":            {"opaque", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := mintLocal(t, desired.TokenSource{Kind: desired.SourceEnv, Variable: "T"}, map[string]string{"T": tc.token})
			require.NoError(t, err)
			require.Equal(t, tc.want, got.ExpiresAt)
		})
	}
}

func TestAFileIsReadWithoutItsLastLineEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	from := desired.TokenSource{Kind: desired.SourceFile, Path: path}
	for _, text := range []string{"file-token", "file-token\n", "file-token\r\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := mintLocal(t, from, nil)
		require.NoError(t, err)
		require.Equal(t, "file-token", got.AccessToken)
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(path, link))
	_, err := mintLocal(t, desired.TokenSource{Kind: desired.SourceFile, Path: link}, nil)
	require.NoError(t, err, "mounted secrets are links")
}

func TestAFileThatIsNoTokenIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	for name, tc := range map[string]struct{ path, text string }{
		"absent":              {filepath.Join(dir, "absent"), "is not there"},
		"a folder":            {dir, "is not a regular file"},
		"a device":            {os.DevNull, "is not a regular file"},
		"empty":               {write("empty", "\n", 0o600), "holds no token"},
		"two line ends":       {write("two", "canary\n\n", 0o600), "characters that a token cannot have"},
		"too long":            {write("long", strings.Repeat("c", 64<<10+1), 0o600), "longer than 64 KiB"},
		"writable for all":    {write("open", "canary", 0o666), "written by everybody"},
		"the longest and \\n": {write("edge", strings.Repeat("c", 64<<10)+"\r\n", 0o600), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mintLocal(t, desired.TokenSource{Kind: desired.SourceFile, Path: tc.path}, nil)
			if tc.text == "" {
				require.NoError(t, err)
				return
			}
			f := requireFailure(t, err, health.CodeTokenSourceInvalid)
			require.Contains(t, f.Failure.Cause(), "the file "+tc.path+" ")
			require.Contains(t, f.Failure.Cause(), tc.text)
			require.Contains(t, f.Failure.RecommendedAction, tc.path)
			require.NotContains(t, err.Error(), "canary")
		})
	}
}

func TestALiteralIsNotMinted(t *testing.T) {
	t.Parallel()
	sources := tokensource.NewSources(tokensource.Options{})
	t.Cleanup(sources.Close)
	_, err := sources.For(desired.TokenSource{Kind: desired.SourceLiteral, Value: "canary-literal"})
	requireFailure(t, err, health.CodeTokenSourceInvalid)
	require.NotContains(t, err.Error(), "canary")
	_, err = sources.For(desired.TokenSource{Kind: "magic"})
	requireFailure(t, err, health.CodeTokenSourceInvalid)
}
