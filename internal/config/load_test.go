package config_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/config"
)

var bare = []string{"HOME=/home/someone"}

func TestDefaultsAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Options{Environ: bare})
	require.NoError(t, err)
	require.Equal(t, config.Config{
		DataDir:  "/home/someone/.local/share/holdfast",
		Store:    config.Store{Path: "/home/someone/.local/share/holdfast/holdfast.db"},
		Keys:     config.Keys{Dir: "/home/someone/.local/share/holdfast/keys"},
		Temporal: config.Temporal{TaskQueue: "holdfast", NamespaceRetention: 8 * 24 * time.Hour},
		Inspect:  config.Inspect{PollInterval: 30 * time.Second, ProbeInterval: time.Minute, Jitter: 0.1},
		Engine:   config.Engine{Timeout: 5 * time.Second},
		Endpoint: config.Endpoint{Timeout: 5 * time.Second},
		Worker:   config.Worker{StopTimeout: 15 * time.Second, MaxActivities: 1000, MaxWorkflows: 2000, HealthListen: "127.0.0.1:8235"},
		Fleet:    config.Fleet{Interval: 5 * time.Minute},
		Gateway:  config.Gateway{Listen: "127.0.0.1:8236", Auth: config.AuthToken},
		OIDC:     config.OIDC{AccountClaim: "sub", Scopes: []string{"openid", "profile", "email"}},
		Sessions: config.Sessions{
			Start: 3 * time.Second, Idle: 5 * time.Minute, PausedIdle: 9 * time.Minute, RunningIdle: 35 * time.Minute,
			Retention: 7 * 24 * time.Hour, AbsoluteLimit: 30 * 24 * time.Hour,
		},
		Approvals: config.Approvals{Window: 4 * time.Minute, Hold: 50 * time.Second, Retention: 7 * 24 * time.Hour},
		Codec:     config.Codec{Listen: "127.0.0.1:8234"},
		Log:       config.Log{Level: "info", Format: "text"},
	}, loaded)
}

func TestLaterSourcesWin(t *testing.T) {
	t.Parallel()
	file := settingsFile(t, "log: {level: warn}\ninspect:\n  poll_interval: 7s\n  probe_interval: 8s\nworker:\n  max_activities: 12\n")
	flags := newFlags(t, "--inspect-poll-interval=9s")
	loaded, err := config.Load(config.Options{
		Flags:    flags,
		Environ:  append([]string{"HOLDFAST_CONFIG=" + file, "HOLDFAST_INSPECT_PROBE_INTERVAL=10s", "HOLDFAST_INSPECT_POLL_INTERVAL=10s"}, bare...),
		Defaults: map[string]string{"log.level": "debug", "log.format": "json", "inspect.poll_interval": "1s"},
	})
	require.NoError(t, err)
	require.Equal(t, "json", loaded.Log.Format, "a command's own default")
	require.Equal(t, "warn", loaded.Log.Level, "file over default")
	require.Equal(t, 12, loaded.Worker.MaxActivities)
	require.Equal(t, 10*time.Second, loaded.Inspect.ProbeInterval, "variable over file")
	require.Equal(t, 9*time.Second, loaded.Inspect.PollInterval, "flag over variable")
}

func TestTheFlagNamesTheFileBeforeTheVariable(t *testing.T) {
	t.Parallel()
	chosen, other := settingsFile(t, "log: {level: error}"), settingsFile(t, "log: {level: warn}")
	loaded, err := config.Load(config.Options{
		Flags: newFlags(t, "--config", chosen), Environ: append([]string{"HOLDFAST_CONFIG=" + other}, bare...),
	})
	require.NoError(t, err)
	require.Equal(t, "error", loaded.Log.Level)
}

func TestPathsFollowTheDataFolder(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		environ []string
		store   string
		keys    string
	}{
		{"XDG", []string{"XDG_DATA_HOME=/x", "HOME=/h"}, "/x/holdfast/holdfast.db", "/x/holdfast/keys"},
		{"a relative XDG folder is ignored", []string{"XDG_DATA_HOME=x", "HOME=/h"}, "/h/.local/share/holdfast/holdfast.db", "/h/.local/share/holdfast/keys"},
		{"own folder", []string{"HOLDFAST_DATA_DIR=/d"}, "/d/holdfast.db", "/d/keys"},
		{"each by itself", []string{"HOLDFAST_STORE_PATH=/s.db", "HOLDFAST_KEYS_DIR=/k"}, "/s.db", "/k"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			loaded, err := config.Load(config.Options{Environ: tc.environ})
			require.NoError(t, err)
			require.Equal(t, tc.store, loaded.Store.Path)
			require.Equal(t, tc.keys, loaded.Keys.Dir)
		})
	}
}

func TestWithoutAHomeTheDataFolderIsAskedFor(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Environ: []string{"PATH=/bin"}})
	require.ErrorContains(t, err, "data_dir (HOLDFAST_DATA_DIR)")
}

func TestOpenWorkProbeTimeoutIsHonoured(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value string
		more  []string
		want  time.Duration
	}{
		{"250", nil, 250 * time.Millisecond},
		{" 1e3 ", nil, time.Second},
		{"0", nil, 5 * time.Second},
		{"", nil, 5 * time.Second},
		{"soon", nil, 5 * time.Second},
		{"NaN", nil, 5 * time.Second},
		{"Infinity", nil, 5 * time.Second},
		{"-5", nil, 5 * time.Second},
		{"250", []string{"HOLDFAST_ENDPOINT_TIMEOUT=2s"}, 2 * time.Second},
	} {
		t.Run(fmt.Sprintf("%q %v", tc.value, tc.more), func(t *testing.T) {
			t.Parallel()
			environ := append(append([]string{"OPENWORK_CLOUD_MCP_PROBE_TIMEOUT_MS=" + tc.value}, bare...), tc.more...)
			loaded, err := config.Load(config.Options{Environ: environ})
			require.NoError(t, err)
			require.Equal(t, tc.want, loaded.Endpoint.Timeout)
		})
	}
}

func TestASettingsFileSaysWhereItIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "log:\n  level: info\n  colour: red\n", `:3: unknown key "colour" in log: known are level, format`},
		{"unknown section", "data_dir: /x\nlogs: {}\n", `:2: unknown key "logs" in the document`},
		{"key twice", "log:\n  level: info\n  level: warn\n", `:3: key "level" is given twice in log, first at line 2`},
		{"value for a section", "log: info\n", ":1: log must be a mapping"},
		{"section for a value", "codec:\n  path_secret: {a: s3cr3t}\n", ":2: codec.path_secret must be a single value"},
		{"value for a list", "codec:\n  origins: http://localhost:8233\n", ":2: codec.origins must be a list"},
		{"broken", "log: [s3cr3t\nx: y", "not valid YAML"},
		{"two documents", "log: {level: info}\n---\nlog: {level: warn}\n", "one document"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := settingsFile(t, tc.text)
			_, err := config.Load(config.Options{File: file, Environ: bare})
			require.ErrorContains(t, err, file)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "s3cr3t")
		})
	}
}

func TestOutcomesAreNotPromisedForLongerThanTemporalKeepsThem(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Environ: append([]string{"HOLDFAST_APPROVALS_RETENTION=192h"}, bare...)})
	require.ErrorContains(t, err, "approvals.retention (HOLDFAST_APPROVALS_RETENTION): Temporal forgets closed workflows after 192h0m0s: give at most 168h0m0s")
}

func TestAFileThatIsNamedMustExist(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{File: "/nowhere/settings.yaml", Environ: bare})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEverythingWrongIsReportedAtOnceWithPathAndVariable(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Environ: append([]string{
		"HOLDFAST_TEMPORAL_TASK_QUEUE= blank ", "HOLDFAST_TEMPORAL_NAMESPACE_RETENTION=1h",
		"HOLDFAST_INSPECT_POLL_INTERVAL=10ms", "HOLDFAST_INSPECT_PROBE_INTERVAL=0s", "HOLDFAST_INSPECT_JITTER=0.6",
		"HOLDFAST_ENGINE_TIMEOUT=1h", "HOLDFAST_ENDPOINT_TIMEOUT=0s",
		"HOLDFAST_WORKER_STOP_TIMEOUT=-1s", "HOLDFAST_WORKER_MAX_ACTIVITIES=0", "HOLDFAST_WORKER_MAX_WORKFLOWS=9", "HOLDFAST_WORKER_HEALTH_LISTEN=8235",
		"HOLDFAST_GATEWAY_LISTEN=8236", "HOLDFAST_GATEWAY_AUTH=password", "HOLDFAST_GATEWAY_HOSTS=ok.example,https://u:s3cr3t@x",
		"HOLDFAST_GATEWAY_ORIGINS=*", "HOLDFAST_FLEET_INTERVAL=4s", "HOLDFAST_SOURCES_FILE= mcp.json", "HOLDFAST_POLICY_FILE=policy.yaml ",
		"HOLDFAST_CODEC_LISTEN=0.0.0.0:8234", "HOLDFAST_CODEC_ORIGINS=https://u:s3cr3t@ui.example,*,http://ui/", "HOLDFAST_LOG_LEVEL=loud", "HOLDFAST_LOG_FORMAT=xml",
		"HOLDFAST_GATEWAY_PUBLIC_URL=https://x/s3cr3t", "HOLDFAST_OIDC_ISSUER=http://u:s3cr3t@login.example", "HOLDFAST_OIDC_ROLES=admins",
		"HOLDFAST_OIDC_DEFAULT_ROLE=root", "HOLDFAST_OIDC_ORGANISATIONS=acme", "HOLDFAST_OIDC_SCOPES=email", "HOLDFAST_OIDC_CLIENT_ID=x",
		"HOLDFAST_OIDC_CLIENT_SECRET=s3cr3t", "HOLDFAST_OIDC_CLIENT_SECRET_FILE=/x",
		"HOLDFAST_SESSIONS_IDLE=25h", "HOLDFAST_SESSIONS_PAUSED_IDLE=1s", "HOLDFAST_SESSIONS_RUNNING_IDLE=1s",
		"HOLDFAST_SESSIONS_RETENTION=1s", "HOLDFAST_SESSIONS_ABSOLUTE_LIMIT=0s", "HOLDFAST_SESSIONS_START=0s",
		"HOLDFAST_APPROVALS_WINDOW=0s", "HOLDFAST_APPROVALS_HOLD=6m", "HOLDFAST_APPROVALS_RETENTION=1m",
	}, bare...)})
	require.Error(t, err)
	for _, setting := range config.Settings() {
		switch setting.Path {
		case "data_dir", "store.path", "keys.dir", "codec.path_secret", "codec.path_secret_file", "gateway.read_only":
		case "oidc.organisations", "oidc.account_claim", "oidc.client_id", "oidc.client_secret", "oidc.audience":
		default:
			require.ErrorContains(t, err, setting.Path+" ("+setting.Env+"): ")
		}
	}
	require.NotContains(t, err.Error(), "s3cr3t")
}

func TestTextOfTheWrongKindIsRefusedWithAHint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ variable, want string }{
		{"HOLDFAST_INSPECT_POLL_INTERVAL=30", "write a number and a unit"},
		{"HOLDFAST_WORKER_MAX_ACTIVITIES=many", "no whole number"},
		{"HOLDFAST_INSPECT_JITTER=10%", "no number"},
		{"HOLDFAST_GATEWAY_READ_ONLY=perhaps", "neither true nor false"},
	} {
		t.Run(tc.variable, func(t *testing.T) {
			t.Parallel()
			_, err := config.Load(config.Options{Environ: append([]string{tc.variable}, bare...)})
			require.ErrorContains(t, err, tc.want)
			name, _, _ := strings.Cut(tc.variable, "=")
			require.ErrorContains(t, err, name)
		})
	}
}

func TestThePathSecretNeverShowsItself(t *testing.T) {
	t.Parallel()
	const secret = "0123456789-abcdef_X"
	loaded, err := config.Load(config.Options{
		File: settingsFile(t, "codec:\n  path_secret: "+secret+"\n  listen: 0.0.0.0:8234\n  origins: [http://localhost:8233, https://ui.example]\n"), Environ: bare,
	})
	require.NoError(t, err)
	got, err := loaded.Codec.Secret()
	require.NoError(t, err)
	require.Equal(t, secret, got.Reveal())
	require.Equal(t, []string{"http://localhost:8233", "https://ui.example"}, loaded.Codec.Origins)
	encoded, err := json.Marshal(loaded)
	require.NoError(t, err)
	require.NotContains(t, string(encoded)+fmt.Sprintf("%v %+v %#v", loaded, loaded, loaded), secret)

	_, err = config.Load(config.Options{Environ: append([]string{"HOLDFAST_CODEC_PATH_SECRET=s3cr3t"}, bare...)})
	require.ErrorContains(t, err, "HOLDFAST_CODEC_PATH_SECRET")
	require.NotContains(t, err.Error(), "s3cr3t")
}

func TestDigitsInASettingsFileStayText(t *testing.T) {
	t.Parallel()
	loaded, err := config.Load(config.Options{File: settingsFile(t, "codec: {path_secret: 00012345678901234567}\n"), Environ: bare})
	require.NoError(t, err)
	require.Equal(t, "00012345678901234567", loaded.Codec.PathSecret.Reveal())
}

func TestThePathSecretMayBeInAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("0123456789abcdef\n"), 0o600))
	loaded, err := config.Load(config.Options{Environ: append([]string{"HOLDFAST_CODEC_PATH_SECRET_FILE=" + path}, bare...)})
	require.NoError(t, err)
	secret, err := loaded.Codec.Secret()
	require.NoError(t, err)
	require.Equal(t, "0123456789abcdef", secret.Reveal())

	require.NoError(t, os.WriteFile(path, []byte("short"), 0o600))
	_, err = loaded.Codec.Secret()
	require.ErrorContains(t, err, path)
	require.NotContains(t, err.Error(), "short")
}

func TestAGatewayWithoutTokensServesThisMachineOnly(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Environ: append([]string{"HOLDFAST_GATEWAY_AUTH=none", "HOLDFAST_GATEWAY_LISTEN=0.0.0.0:8236"}, bare...)})
	require.ErrorContains(t, err, "holdfast token create")
	loaded, err := config.Load(config.Options{Environ: append([]string{
		"HOLDFAST_GATEWAY_AUTH=none", "HOLDFAST_GATEWAY_LISTEN=[::1]:0", "HOLDFAST_GATEWAY_READ_ONLY=true",
		"HOLDFAST_GATEWAY_HOSTS=mcp.example.com, 10.0.0.7", "HOLDFAST_GATEWAY_ORIGINS=https://ui.example",
	}, bare...)})
	require.NoError(t, err)
	require.True(t, loaded.Gateway.ReadOnly)
	require.Equal(t, []string{"mcp.example.com", "10.0.0.7"}, loaded.Gateway.Hosts)
	require.Equal(t, []string{"https://ui.example"}, loaded.Gateway.Origins)
}

func TestUnknownVariablesOfTheEnvironmentAreLeftAlone(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Environ: append([]string{"HOLDFAST_PORT=tcp://10.0.0.1:80", "HOLDFAST_LOG_LEVEL="}, bare...)})
	require.NoError(t, err)
}

func TestFlagsForASelectionOfSettings(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	require.NoError(t, config.AddFlags(flags, "data_dir", "log.level"))
	require.NotNil(t, flags.Lookup("data-dir"))
	require.NotNil(t, flags.Lookup("log-level"))
	require.NotNil(t, flags.Lookup("config"))
	require.Nil(t, flags.Lookup("store-path"))
	own := pflag.NewFlagSet("own", pflag.ContinueOnError)
	require.NoError(t, config.AddFlagsOf(own, map[string]string{"log.level": "warn"}, "log.level"))
	require.Contains(t, own.Lookup("log-level").Usage, "(default warn)")
	require.ErrorContains(t, config.AddFlags(pflag.NewFlagSet("y", pflag.ContinueOnError), "colour"), `"colour"`)
}

func TestDefaultsOfACommandMustNameSettings(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Options{Environ: bare, Defaults: map[string]string{"colour": "red"}})
	require.ErrorContains(t, err, `"colour"`)
}

func TestTheTableHasARowForEachSetting(t *testing.T) {
	t.Parallel()
	rows := strings.Split(strings.TrimSpace(config.Table()), "\n")
	require.Len(t, rows, len(config.Settings())+2)
	require.Contains(t, rows, "| `inspect.poll_interval` | `HOLDFAST_INSPECT_POLL_INTERVAL` | `30s` | between two looks at the engine, at least 1s |")
	for _, setting := range config.Settings() {
		require.NotEmpty(t, setting.Doc, setting.Path)
		require.NotEmpty(t, setting.Shown, setting.Path)
	}
}

func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func newFlags(t *testing.T, arguments ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("holdfast", pflag.ContinueOnError)
	require.NoError(t, config.AddFlags(flags))
	require.NoError(t, flags.Parse(arguments))
	return flags
}
