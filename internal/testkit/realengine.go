package testkit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// RealEngine starts the pinned OpenCode engine with a home of its own, waits until it answers and kills it at the end
// of the test. env are further variables, such as OPENCODE_SERVER_PASSWORD=….
func RealEngine(tb testing.TB, env ...string) *Service {
	tb.Helper()
	return realEngine(tb, tb.TempDir(), env)
}

// RealEngineWith is [RealEngine] with a configuration of its own, as a user's opencode.json holds it.
func RealEngineWith(tb testing.TB, configuration map[string]any, env ...string) *Service {
	tb.Helper()
	home := tb.TempDir()
	folder := filepath.Join(engineConfigHome(home), "opencode")
	encoded, err := json.Marshal(configuration)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "opencode.json"), encoded, 0o600)
	}
	if err != nil {
		tb.Fatalf("configure engine: %v", err)
	}
	return realEngine(tb, home, env)
}

func engineConfigHome(home string) string { return filepath.Join(home, "config") }

func realEngine(tb testing.TB, home string, env []string) *Service {
	tb.Helper()
	binary := testbedFile(tb, "opencode-linux-x64", "bin", "opencode")
	port := FreePort(tb)
	environment := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"XDG_DATA_HOME=" + filepath.Join(home, "data"),
		"XDG_CONFIG_HOME=" + engineConfigHome(home),
		"XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		// No network: what the engine fetches for itself is not what is tested.
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1",
	}
	return startService(tb, Command{
		Path: binary,
		Args: []string{"serve", "--hostname", "127.0.0.1", "--port", strconv.Itoa(port)},
		Dir:  home,
		Env:  append(environment, env...),
	}, port, "/global/health")
}
