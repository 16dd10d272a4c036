package cli_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/cli"
	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/simulator"
	"github.com/holdfast-mcp/holdfast/internal/store"
	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

type diagnosis struct {
	OK       bool
	Findings []struct{ Level, Subject, Message, Action string }
}

func (d diagnosis) levels() map[string]string {
	levels := map[string]string{}
	for _, one := range d.Findings {
		levels[one.Subject] = one.Level
	}
	return levels
}

// Temporal is down in these tests: what can be checked without it is checked all the same.
func down(l *line) {
	l.dialFault = &temporalclient.DialError{Address: "127.0.0.1:1", Cause: errors.New("refused")}
}

func TestDoctorOnABareMachineSaysSetup(t *testing.T) {
	t.Parallel()
	l := bare(t)
	down(l)
	require.Equal(t, cli.ExitError, l.run("doctor", "-o", "json"))
	got := document[diagnosis](l)
	require.False(t, got.OK)
	require.Equal(t, map[string]string{"keysets": "fail", "store": "fail", "temporal": "fail"}, got.levels())
	require.Contains(t, got.Findings[0].Action, "holdfast setup")
	require.NoFileExists(t, filepath.Join(l.dataDir, "holdfast.db"), "it changes nothing")
}

func TestDoctorAsksEnginesAndEndpoints(t *testing.T) {
	t.Parallel()
	engine, err := simulator.NewEngine(simulator.EngineOptions{Password: canary})
	require.NoError(t, err)
	t.Cleanup(engine.Close)
	endpoint, err := simulator.NewEndpoint(simulator.EndpointOptions{Token: canary})
	require.NoError(t, err)
	t.Cleanup(endpoint.Close)

	l := prepared(t)
	l.environ = append(l.environ, "PASSWORD="+canary)
	good := []string{
		"connection", "apply", "--workspace", "acme", "--directory", "/srv/acme", "--engine", engine.BaseURL(), "--engine-password-env", "PASSWORD",
		"--name", "good", "--url", endpoint.URL(), "--header", "Authorization: Bearer " + canary,
	}
	require.Zero(t, l.run(good...), l.stderr)
	bad := append(good[:len(good)-1:len(good)-1], "Authorization: Bearer wrong", "--name", "bad")
	require.Zero(t, l.run(bad...), l.stderr)
	off := append(good, "--name", "off", "--disabled")
	require.Zero(t, l.run(off...), l.stderr)

	down(l)
	require.Equal(t, cli.ExitError, l.run("doctor", "--engine", "http://127.0.0.1:1", "-o", "json"))
	got := document[diagnosis](l)
	levels := got.levels()
	require.Equal(t, "ok", levels["keysets"])
	require.Equal(t, "ok", levels["store"])
	require.Equal(t, "ok", levels["endpoint of acme/good"])
	require.Equal(t, "fail", levels["endpoint of acme/bad"])
	require.Equal(t, "ok", levels["endpoint of acme/off"])
	require.Equal(t, "fail", levels["engine 127.0.0.1-1"], "the one that was named")
	for _, one := range got.Findings {
		if one.Subject != "engine 127.0.0.1-1" && strings.HasPrefix(one.Subject, "engine ") {
			require.Equal(t, "ok", one.Level, one.Message)
			require.Contains(t, one.Message, simulator.EngineVersion)
		}
	}
	require.NotContains(t, l.stdout.String()+l.stderr.String(), canary)

	require.Equal(t, cli.ExitError, l.run("doctor"))
	require.Contains(t, l.stdout.String(), "\n")
	require.Contains(t, l.stdout.String(), "→ ")
	require.Contains(t, l.stderr.String(), "checks failed")
}

func TestSetupMakesWhatIsLocalAlsoWhenTemporalIsDown(t *testing.T) {
	t.Parallel()
	l := bare(t)
	down(l)
	type steps struct {
		Steps []struct {
			Subject string
			Changed bool
		}
	}
	for _, changed := range []bool{true, false} {
		require.Equal(t, cli.ExitError, l.run("setup", "-o", "json"))
		require.Contains(t, l.stderr.String(), "cannot reach Temporal at 127.0.0.1:1")
		got := document[steps](l)
		require.Len(t, got.Steps, 2)
		require.Equal(t, changed, got.Steps[0].Changed)
		require.Equal(t, changed, got.Steps[1].Changed)
	}
}

func TestDoctorWarnsOfAnotherVersionAndSeesTheGateway(t *testing.T) {
	t.Parallel()
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"healthy":true,"version":"0.0.1"}`))
	}))
	t.Cleanup(engine.Close)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(gateway.Close)
	l := prepared(t)
	l.environ = append(l.environ, "HOLDFAST_GATEWAY_LISTEN="+gateway.Listener.Addr().String())
	down(l)
	require.Equal(t, cli.ExitError, l.run("doctor", "--engine", engine.URL, "-o", "json"))
	got := document[diagnosis](l)
	levels := got.levels()
	require.Equal(t, "ok", levels["gateway"])
	subject := "engine " + manifest.EngineID(engine.URL)
	require.Equal(t, "warn", levels[subject])
	for _, one := range got.Findings {
		if one.Subject == subject {
			require.Contains(t, one.Message, "version 0.0.1")
			require.Contains(t, one.Message, "tested with "+simulator.EngineVersion)
		}
	}
}

func TestDoctorSaysOfADamagedRowWhatToDo(t *testing.T) {
	t.Parallel()
	l := team(t)
	l.damage(`UPDATE account_desired SET config = zeroblob(80)`)
	down(l)
	require.Equal(t, cli.ExitError, l.run("doctor", "-o", "json"))
	for _, one := range document[diagnosis](l).Findings {
		require.Equal(t, one.Level == "ok", one.Action == "", "%+v", one)
		if one.Subject == "store" && one.Level == "fail" {
			require.Contains(t, one.Message, "account_desired")
			require.Contains(t, one.Action, "apply that again")
		}
	}

	l.dialFault = nil
	l.run("account", "remove", "team/search")
	require.Equal(t, map[string]store.IntentKind{"team/search": store.IntentRemoved}, l.decided(), "it can be taken away all the same")
}

func TestDoctorSaysOfWhatWasRemovedHowToWantItAgain(t *testing.T) {
	t.Parallel()
	l := team(t)
	l.store(func(st *store.Store) {
		for _, intent := range []store.Intent{
			{Workspace: "acme", Name: "search", Kind: store.IntentRemoved},
			{Workspace: "lone", Name: "gone", Kind: store.IntentRemoved},
			{Workspace: "lone", Name: "own", Kind: store.IntentRemoved},
			{Account: "team", Name: "search", Kind: store.IntentRemoved},
			{Account: "team", Name: "gone", Kind: store.IntentRemoved},
		} {
			_, err := st.PutIntent(t.Context(), intent)
			require.NoError(t, err)
		}
	})
	down(l)
	l.run("doctor", "-o", "json")
	var actions []string
	for _, one := range document[diagnosis](l).Findings {
		if one.Subject == "intents" {
			actions = append(actions, one.Action)
		}
	}
	const again = "to want it again, apply it again: holdfast connection apply"
	require.ElementsMatch(t, []string{
		"to want it again: holdfast connection enable acme/search", again, "to want it again: holdfast connection enable lone/own",
		"to want it again: holdfast account enable team/search", again,
	}, actions)
	l.dialFault = nil
	require.Zero(t, l.run("connection", "enable", "lone/own"), l.stderr)
}

func TestDoctorAsksTheGatewayOfTheDevThatRuns(t *testing.T) {
	t.Parallel()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(gateway.Close)
	l := prepared(t)
	l.environ = append(l.environ, "HOLDFAST_GATEWAY_LISTEN=127.0.0.1:1")
	info, err := json.Marshal(cli.DevInfo{Temporal: "127.0.0.1:1", Gateway: gateway.URL, PID: os.Getpid()})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(l.dataDir, cli.DevInfoFile), info, 0o600))
	down(l)
	l.run("doctor", "-o", "json")
	got := document[diagnosis](l)
	require.Equal(t, "ok", got.levels()["gateway"])
	require.Contains(t, got.Findings[len(got.Findings)-1].Message, gateway.Listener.Addr().String())
}
