package deploy_test

import (
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/holdfast-mcp/holdfast/internal/app"
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/policyfile"
)

// What a worker and a gateway take at most between the signal to stop and their end.
const (
	workerBudget  = 40 * time.Second
	gatewayBudget = app.GatewayStopBudget
)

// compose is the part of docker-compose.yml that these tests look at.
type compose struct {
	Services map[string]service `yaml:"services"`
	Secrets  map[string]struct {
		File string `yaml:"file"`
	} `yaml:"secrets"`
	Volumes map[string]any `yaml:"volumes"`
}

type service struct {
	Image       string            `yaml:"image"`
	Build       map[string]any    `yaml:"build"`
	Restart     string            `yaml:"restart"`
	Environment map[string]string `yaml:"environment"`
	Entrypoint  []string          `yaml:"entrypoint"`
	Ports       []string          `yaml:"ports"`
	Secrets     []string          `yaml:"secrets"`
	Volumes     []string          `yaml:"volumes"`
	Profiles    []string          `yaml:"profiles"`
	StopGrace   time.Duration     `yaml:"stop_grace_period"`
	DependsOn   map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	Healthcheck struct {
		Test     []string      `yaml:"test"`
		Interval time.Duration `yaml:"interval"`
		Retries  int           `yaml:"retries"`
	} `yaml:"healthcheck"`
}

func readCompose(t *testing.T) compose {
	t.Helper()
	data, err := os.ReadFile("../docker-compose.yml")
	require.NoError(t, err)
	var parsed compose
	require.NoError(t, yaml.Unmarshal(data, &parsed))
	return parsed
}

func TestComposeHasEveryPart(t *testing.T) {
	t.Parallel()
	parsed := readCompose(t)
	require.ElementsMatch(t, []string{
		"postgresql", "temporal-schema", "temporal", "temporal-namespace", "temporal-search-attributes", "temporal-ui",
		"holdfast-worker", "holdfast-gateway", "holdfast",
	}, slices.Collect(maps.Keys(parsed.Services)))
	require.True(t, strings.HasPrefix(parsed.Services["postgresql"].Image, "postgres:16."))
	require.Equal(t, parsed.Services["temporal-schema"].Image, parsed.Services["temporal-namespace"].Image)
	require.Equal(t, []string{"cli"}, parsed.Services["holdfast"].Profiles, "the command line does not start by itself")
}

func TestComposeStartsInOrder(t *testing.T) {
	t.Parallel()
	services := readCompose(t).Services
	const (
		healthy = "service_healthy"
		done    = "service_completed_successfully"
	)
	for _, tc := range []struct{ service, needs, condition string }{
		{"temporal-schema", "postgresql", healthy},
		{"temporal", "temporal-schema", done},
		{"temporal-namespace", "temporal", healthy},
		{"temporal-search-attributes", "temporal-namespace", done},
		{"temporal-ui", "temporal", healthy},
		{"holdfast-worker", "temporal", healthy},
		{"holdfast-worker", "temporal-namespace", done},
		{"holdfast-worker", "temporal-search-attributes", done},
		{"holdfast-gateway", "temporal", healthy},
		{"holdfast-gateway", "holdfast-worker", healthy},
		{"holdfast", "temporal-search-attributes", done},
	} {
		require.Equal(t, tc.condition, services[tc.service].DependsOn[tc.needs].Condition, "%s needs %s", tc.service, tc.needs)
	}
	for name, tc := range services {
		for needed, dependency := range tc.DependsOn {
			if dependency.Condition == healthy {
				require.NotEmpty(t, services[needed].Healthcheck.Test, "%s waits for the health of %s", name, needed)
				require.Positive(t, services[needed].Healthcheck.Retries)
				continue
			}
			require.Regexp(t, `^on-failure:\d+$`, services[needed].Restart, "%s waits for the end of %s", name, needed)
		}
	}
}

func TestComposePinsEveryImage(t *testing.T) {
	t.Parallel()
	exact := regexp.MustCompile(`^[a-z/-]+:\d+\.\d+(\.\d+)?(-[a-z0-9.]+)?$`)
	for name, tc := range readCompose(t).Services {
		if tc.Build == nil {
			require.Regexp(t, exact, tc.Image, name)
		}
	}
	dockerfile, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	stages := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(dockerfile), -1)
	require.Len(t, stages, 2)
	for _, stage := range stages {
		require.Regexp(t, exact, stage[1])
	}
}

func TestComposeBindsPortsToThisMachine(t *testing.T) {
	t.Parallel()
	loopback := regexp.MustCompile(`^127\.0\.0\.1:\d+:\d+$`)
	published := 0
	for name, tc := range readCompose(t).Services {
		for _, port := range tc.Ports {
			published++
			require.Regexp(t, loopback, port, name)
		}
	}
	require.Equal(t, 5, published)
}

func TestComposeKeepsSecretsInFiles(t *testing.T) {
	t.Parallel()
	parsed := readCompose(t)
	require.NotEmpty(t, parsed.Secrets)
	for name, secret := range parsed.Secrets {
		require.Equal(t, "./deploy/secrets/"+name, secret.File)
	}
	sensitive := regexp.MustCompile(`(?i)(password|pwd|secret|token|key)`)
	for name, tc := range parsed.Services {
		for variable, value := range tc.Environment {
			if sensitive.MatchString(variable) {
				require.True(t, strings.HasPrefix(value, "/run/secrets/"), "%s of %s must name a secret's file", variable, name)
			}
		}
		for _, secret := range tc.Secrets {
			require.Contains(t, parsed.Secrets, secret, name)
		}
		for _, volume := range tc.Volumes {
			require.NotRegexp(t, `^\./?(deploy/?)?:`, volume, "%s must not see the folder of the secrets", name)
		}
	}
	ignored, err := os.ReadFile(".gitignore")
	require.NoError(t, err)
	require.Contains(t, string(ignored), "/secrets/")
}

func TestComposeOffersTheToolsOfItsFolder(t *testing.T) {
	t.Parallel()
	services := readCompose(t).Services
	for _, name := range []string{"holdfast-worker", "holdfast-gateway"} {
		require.Equal(t, "/etc/holdfast/mcp.json", services[name].Environment["HOLDFAST_SOURCES_FILE"], name)
		require.Equal(t, "/etc/holdfast/policy.yaml", services[name].Environment["HOLDFAST_POLICY_FILE"], name)
		require.Contains(t, services[name].Volumes, "./deploy/tools:/etc/holdfast:ro", name)
	}
	sources, err := catalog.New(catalog.Params{File: "tools/mcp.json", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	sources.Close()
	_, err = policyfile.Open(policyfile.Params{Path: "tools/policy.yaml", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
}

func TestComposeLetsTheWorkerFinish(t *testing.T) {
	t.Parallel()
	worker := readCompose(t).Services["holdfast-worker"]
	require.Greater(t, worker.StopGrace, workerBudget)
	require.NotNil(t, worker.Build)
	require.Contains(t, worker.Healthcheck.Test, "http://127.0.0.1:8235/readyz")
}

func TestComposeServesTheAPIToWhoeverHasAToken(t *testing.T) {
	t.Parallel()
	gateway := readCompose(t).Services["holdfast-gateway"]
	require.Greater(t, gateway.StopGrace, gatewayBudget)
	require.Equal(t, []string{"/usr/local/bin/holdfast-gateway"}, gateway.Entrypoint)
	require.Contains(t, gateway.Ports, "127.0.0.1:8236:8236")
	require.NotContains(t, gateway.Environment, "HOLDFAST_GATEWAY_AUTH", "it asks for tokens by default")
	require.Contains(t, gateway.Healthcheck.Test, "http://127.0.0.1:8236/readyz")
	dockerfile, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	for _, binary := range []string{"holdfast", "holdfast-worker", "holdfast-gateway"} {
		require.Contains(t, string(dockerfile), "/out/"+binary+" ")
	}
}

func TestComposeGivesTheUITheCodecOfTheWorker(t *testing.T) {
	t.Parallel()
	services := readCompose(t).Services
	worker, ui := services["holdfast-worker"], services["temporal-ui"]
	require.Contains(t, worker.Ports, "127.0.0.1:8234:8234")
	require.Equal(t, "http://localhost:8234", ui.Environment["CODEC_URL"])
	require.Equal(t, []string{"codec_path"}, ui.Secrets)
	require.Equal(t, "/run/secrets/codec_path", worker.Environment["HOLDFAST_CODEC_PATH_SECRET_FILE"])
	origins := strings.Split(worker.Environment["HOLDFAST_CODEC_ORIGINS"], ",")
	require.Equal(t, []string{"http://localhost:8080", "http://127.0.0.1:8080"}, origins)
}

func TestDockerfileRunsAsNobodyInParticular(t *testing.T) {
	t.Parallel()
	dockerfile, err := os.ReadFile("../Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(dockerfile), "CGO_ENABLED=0")
	require.Regexp(t, `(?m)^USER holdfast$`, string(dockerfile))
	require.Regexp(t, `(?m)^ENTRYPOINT \["/usr/local/bin/holdfast-worker"\]$`, string(dockerfile))
}
