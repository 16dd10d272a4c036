package engineapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

// routes holds every method that gives an answer, as one call with its result.
var routes = map[string]struct {
	call   func(ctx context.Context, c *engineapi.Client) (any, error)
	method string
	path   string
	good   string
	want   any
	// bad are answers with status 200 that the method must refuse.
	bad []string
	// global methods concern no directory.
	global bool
	// streamed answers are read as they come: a broken one is not asked for again.
	streamed bool
}{
	"health": {
		call:   func(ctx context.Context, c *engineapi.Client) (any, error) { return c.Health(ctx) },
		method: http.MethodGet, path: "/global/health", global: true,
		good: `{"healthy":true,"version":"1.18.33"}`,
		want: engineapi.Health{Healthy: true, Version: "1.18.33"},
		bad:  []string{`{}`, `{"healthy":true}`, `{"version":"1"}`, `true`},
	},
	"statuses": {
		call:   func(ctx context.Context, c *engineapi.Client) (any, error) { return c.Statuses(ctx, directory) },
		method: http.MethodGet, path: "/mcp",
		good: `{"a":{"status":"connected"},"b":{"status":"failed","error":"gone"}}`,
		want: map[string]engineapi.Status{"a": {Status: "connected"}, "b": {Status: "failed", Error: "gone"}},
		bad:  []string{`{"a":"connected"}`, `{"a":{}}`, `true`},
	},
	"register": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return c.Register(ctx, directory, "cloud", map[string]any{"type": "remote"}, time.Second)
		},
		method: http.MethodPost, path: "/mcp",
		good: `{"cloud":{"status":"connected"}}`,
		want: map[string]engineapi.Status{"cloud": {Status: "connected"}},
		bad:  []string{`{"cloud":{"status":""}}`, `true`},
	},
	"connect": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return nil, c.Connect(ctx, directory, "a/b c")
		},
		method: http.MethodPost, path: "/mcp/a%2Fb%20c/connect",
		good: `true`, bad: []string{`false`, `{}`},
	},
	"disconnect": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return nil, c.Disconnect(ctx, directory, "..")
		},
		method: http.MethodPost, path: "/mcp/%2E%2E/disconnect",
		good: `true`, bad: []string{`false`, `{}`},
	},
	"sessions": {
		call:   func(ctx context.Context, c *engineapi.Client) (any, error) { return c.Sessions(ctx, directory) },
		method: http.MethodGet, path: "/session/status",
		good: `{"ses_1":{"type":"busy"}}`,
		want: map[string]engineapi.SessionState{"ses_1": {Type: "busy"}},
		bad:  []string{`{"ses_1":{}}`, `true`},
	},
	"configured servers": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return c.ConfiguredServers(ctx, directory)
		},
		method: http.MethodGet, path: "/config",
		good: `{"username":"x","mcp":{"own":{"type":"local"}}}`,
		want: map[string]json.RawMessage{"own": json.RawMessage(`{"type":"local"}`)},
		bad:  []string{`{"mcp":[]}`, `true`},
	},
	"configuration": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return c.Configuration(ctx, directory)
		},
		method: http.MethodGet, path: "/config",
		good: `{"permission":{"b":"deny","a":"ask"},"tools":{"b":false},"default_agent":"x","agent":{"x":{"permission":"allow"}}}`,
		want: engineapi.Configuration{
			Permission: json.RawMessage(`{"b":"deny","a":"ask"}`), Tools: json.RawMessage(`{"b":false}`), DefaultAgent: "x",
			Agents: map[string]engineapi.AgentConfiguration{"x": {Permission: json.RawMessage(`"allow"`)}},
		},
		bad: []string{`{"agent":[]}`, `true`},
	},
	"global configuration": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return c.GlobalConfiguration(ctx)
		},
		method: http.MethodGet, path: "/global/config", global: true,
		good: `{"tools":{"b":false}}`,
		want: engineapi.Configuration{Tools: json.RawMessage(`{"b":false}`)},
		bad:  []string{`{"agent":[]}`, `true`},
	},
	"model": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return c.Model(ctx, directory, "two", "m")
		},
		method: http.MethodGet, path: "/config/providers", streamed: true,
		good: `{"default":{},"providers":[{"models":{"m":{}},"id":"one"},{"id":"two","models":{"m":{"capabilities":{"toolcall":true}}}}]}`,
		want: engineapi.Model{Exists: true, ToolCall: true},
		bad:  []string{`{}`, `true`, `{"providers":{}}`, `{"providers":[{"id":"one"}`, `{"providers":[1]}`, `[]`},
	},
	"tools of a model": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return c.ProviderTools(ctx, directory, "p", "m")
		},
		method: http.MethodGet, path: "/experimental/tool",
		good: `[{"id":"bash","description":"x"},{"id":"read"}]`, want: []string{"bash", "read"},
		bad: []string{`{}`, `[{}]`, `["bash"]`, `true`},
	},
	"resources": {
		call:   func(ctx context.Context, c *engineapi.Client) (any, error) { return c.Resources(ctx, directory) },
		method: http.MethodGet, path: "/experimental/resource",
		good: `{"cloud:x://y":{"name":"y","uri":"x://y","client":"cloud"}}`,
		want: map[string]engineapi.Resource{"cloud:x://y": {Client: "cloud"}},
		bad:  []string{`{"cloud:x":{}}`, `true`},
	},
	"tool ids": {
		call:   func(ctx context.Context, c *engineapi.Client) (any, error) { return c.ToolIDs(ctx, directory) },
		method: http.MethodGet, path: "/experimental/tool/ids",
		good: `["bash","read"]`, want: []string{"bash", "read"},
		bad: []string{`{}`, `[1]`, `true`},
	},
	"dispose": {
		call: func(ctx context.Context, c *engineapi.Client) (any, error) {
			return nil, c.DisposeInstance(ctx, directory)
		},
		method: http.MethodPost, path: "/instance/dispose",
		good: `true`, bad: []string{`false`, `{}`},
	},
}

func TestEachMethodCallsItsRouteAndReadsItsAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range routes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t, answer(http.StatusOK, tc.good))
			out, err := tc.call(t.Context(), clientFor(t, e))
			require.NoError(t, err)
			require.Equal(t, tc.want, out)
			got := e.last(t)
			require.Equal(t, tc.method, got.Method)
			require.Equal(t, tc.path, got.Path)
			if tc.global {
				require.Empty(t, got.Directories)
			} else {
				require.Equal(t, []string{directory}, got.Directories)
			}
		})
	}
}

func TestAnswersOfAnotherShapeAreMalformed(t *testing.T) {
	t.Parallel()
	for name, tc := range routes {
		for _, body := range append([]string{"", "null", "<!doctype html><p>welcome</p>", `"text"`, `{"a":`}, tc.bad...) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				e := startEngine(t, answer(http.StatusOK, body))
				_, err := tc.call(t.Context(), clientFor(t, e))
				require.Equal(t, httpclient.KindMalformed, httpclient.KindOf(err), "%s: %v", body, err)
				require.Len(t, e.requests(), 1)
			})
		}
	}
}

func TestErrorStatusesAreToldByNumber(t *testing.T) {
	t.Parallel()
	for name, tc := range routes {
		for _, status := range []int{302, 400, 401, 403, 404, 500, 502, 503} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				e := startEngine(t, answer(status, `{"message":"welcome"}`))
				_, err := tc.call(t.Context(), clientFor(t, e))
				var fault *httpclient.Error
				require.ErrorAs(t, err, &fault)
				require.Equal(t, httpclient.KindStatus, fault.Kind)
				require.Equal(t, status, fault.Status)
				require.NotErrorIs(t, err, engineapi.ErrUnknownServer)
				require.NotContains(t, err.Error(), "welcome")
				require.Len(t, e.requests(), 1)
			})
		}
	}
}

func TestOversizedAnswersAreRefused(t *testing.T) {
	t.Parallel()
	e := startEngine(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := make([]byte, 1<<20)
		for range 9 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	_, err := clientFor(t, e).Statuses(t.Context(), directory)
	require.Equal(t, httpclient.KindTooLarge, httpclient.KindOf(err))
}

func TestReadsAreRepeatedOnceAndWritesAreNot(t *testing.T) {
	t.Parallel()
	for name, tc := range routes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startEngine(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			_, err := tc.call(t.Context(), clientFor(t, e))
			require.Equal(t, httpclient.KindUnreachable, httpclient.KindOf(err))
			want := 1
			if tc.method == http.MethodGet && !tc.streamed {
				want = 2
			}
			require.Len(t, e.requests(), want)
		})
	}
}

func TestRegistrationSendsNameAndConfigAndWaitsAsLongAsTold(t *testing.T) {
	t.Parallel()
	e := startEngine(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client := newClient(t, engineapi.Options{BaseURL: e.URL, Timeout: time.Hour})

	_, err := client.Register(t.Context(), directory, "cloud", map[string]any{"type": "remote", "timeout": 1500}, time.Second)

	require.Equal(t, httpclient.KindTimeout, httpclient.KindOf(err))
	require.Equal(t, map[string]any{
		"name":   "cloud",
		"config": map[string]any{"type": "remote", "timeout": 1500.0},
	}, e.last(t).Body)
}

func TestRegistrationThatCannotBeMadeSendsNothing(t *testing.T) {
	t.Parallel()
	e := startEngine(t, answer(http.StatusOK, `{}`))
	client := clientFor(t, e)
	_, err := client.Register(t.Context(), directory, "", nil, 0)
	require.Equal(t, httpclient.KindRequest, httpclient.KindOf(err))
	_, err = client.Register(t.Context(), directory, "cloud", map[string]any{"type": func() {}}, 0)
	require.Equal(t, httpclient.KindRequest, httpclient.KindOf(err))
	require.Equal(t, httpclient.KindRequest, httpclient.KindOf(client.Connect(t.Context(), directory, "")))
	require.Empty(t, e.requests())
}

func TestUnknownServerIsToldApartFromAnother404(t *testing.T) {
	t.Parallel()
	e := startEngine(t, answer(http.StatusNotFound, `{"_tag":"McpServerNotFoundError","name":"x","message":"MCP server not found: x"}`))
	client := clientFor(t, e)
	require.ErrorIs(t, client.Disconnect(t.Context(), directory, "x"), engineapi.ErrUnknownServer)
	err := client.Connect(t.Context(), directory, "x")
	require.ErrorIs(t, err, engineapi.ErrUnknownServer)
	require.Equal(t, httpclient.KindStatus, httpclient.KindOf(err))
}

func TestConfigurationWithoutServersIsEmpty(t *testing.T) {
	t.Parallel()
	e := startEngine(t, answer(http.StatusOK, `{"username":"x"}`))
	servers, err := clientFor(t, e).ConfiguredServers(t.Context(), directory)
	require.NoError(t, err)
	require.NotNil(t, servers)
	require.Empty(t, servers)
}

func TestAnySessionThatIsNotIdleIsWork(t *testing.T) {
	t.Parallel()
	require.False(t, engineapi.Busy(nil))
	require.False(t, engineapi.Busy(map[string]engineapi.SessionState{"a": {Type: "idle"}}))
	require.True(t, engineapi.Busy(map[string]engineapi.SessionState{"a": {Type: "idle"}, "b": {Type: "retry"}}))
	require.True(t, engineapi.Busy(map[string]engineapi.SessionState{"a": {Type: "unheard of"}}))
}

func TestNamesAndDirectoriesArriveUnchanged(t *testing.T) {
	t.Parallel()
	var name string
	mux := http.NewServeMux()
	mux.HandleFunc("POST /mcp/{name}/disconnect", func(w http.ResponseWriter, r *http.Request) {
		name = r.PathValue("name")
		_, _ = w.Write([]byte("true"))
	})
	e := startEngine(t, mux.ServeHTTP)
	client := clientFor(t, e)
	rapid.Check(t, func(t *rapid.T) {
		wantName := rapid.OneOf(rapid.StringN(1, 20, 60), rapid.SampledFrom([]string{".", "..", "a/..", "%2e", "a+b", "?#"})).Draw(t, "name")
		wantDirectory := rapid.StringN(1, 30, 90).Draw(t, "directory")
		if err := client.Disconnect(t.Context(), wantDirectory, wantName); err != nil {
			t.Fatalf("disconnect %q: %v", wantName, err)
		}
		all := e.requests()
		if got := all[len(all)-1].Directories; name != wantName || len(got) != 1 || got[0] != wantDirectory {
			t.Fatalf("sent %q %q, arrived %q %q", wantName, wantDirectory, name, got)
		}
	})
}
