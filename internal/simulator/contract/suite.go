package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/simulator"
)

// patience is the deadline of everything that must happen; nothing here is a measurement.
const patience = 30 * time.Second

// Engine is the engine under test.
type Engine interface {
	// BaseURL is the address without a trailing slash; it survives a restart.
	BaseURL() string
	// Kill ends the engine as SIGKILL does.
	Kill()
	// Restart starts a killed engine on the same address and returns when it answers.
	Restart()
	// Configure defines an MCP server in a directory's own configuration, before the directory is first used.
	Configure(directory, name string, config map[string]any)
	// SetConfiguration makes a text the directory's opencode.json, before the directory is first used.
	SetConfiguration(directory, text string)
}

// Start makes an engine that ends with the test; an empty password means no authentication.
type Start func(tb testing.TB, password string) Engine

// Run runs the whole suite.
func Run(t *testing.T, start Start) {
	t.Helper()
	t.Run("one engine, many directories", func(t *testing.T) {
		t.Parallel()
		s := newSuite(t, start, "")
		for _, group := range []map[string]func(*testing.T, *site){
			statusCases(), registrationCases(), payloadCases(), routeCases(), eventCases(),
			toolCases(),
		} {
			for claim, check := range group {
				t.Run(claim, func(t *testing.T) {
					t.Parallel()
					check(t, s.site(t))
				})
			}
		}
	})
	t.Run("the whole engine", func(t *testing.T) {
		t.Parallel()
		s := newSuite(t, start, "")
		// In sequence, for each case ends every instance of the engine.
		for _, each := range engineCases() {
			t.Run(each.claim, func(t *testing.T) {
				each.check(t, s.site(t))
			})
		}
	})
	t.Run("a password guards every route", func(t *testing.T) {
		t.Parallel()
		s := newSuite(t, start, "pass-word")
		checkPassword(t, s.site(t))
	})
}

type suite struct {
	engine Engine
	root   string
	sites  atomic.Int64
}

func newSuite(t *testing.T, start Start, password string) *suite {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir()) // made before the engine, hence removed after its end
	require.NoError(t, err)
	return &suite{engine: start(t, password), root: root}
}

// site is one case's place: a directory of its own in the engine under test.
type site struct {
	engine    Engine
	directory string
}

func (s *suite) site(t *testing.T) *site {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, filepath.Base(t.Name()))
	directory := filepath.Join(s.root, fmt.Sprintf("%s-%d", name, s.sites.Add(1)))
	require.NoError(t, os.Mkdir(directory, 0o750))
	return &site{engine: s.engine, directory: directory}
}

// endpoint starts a scripted MCP server that ends with the test.
func endpoint(t *testing.T, options simulator.EndpointOptions) *simulator.Endpoint {
	t.Helper()
	e, err := simulator.NewEndpoint(options)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// remote is the config of a remote server without OAuth; timeout in ms.
func remote(url string, timeout int) map[string]any {
	return map[string]any{"type": "remote", "url": url, "enabled": true, "oauth": false, "timeout": timeout}
}

func connected(name string) string { return fmt.Sprintf(`{%q:{"status":"connected"}}`, name) }
func disabled(name string) string  { return fmt.Sprintf(`{%q:{"status":"disabled"}}`, name) }

func failed(name, text string) string {
	return fmt.Sprintf(`{%q:{"status":"failed","error":%q}}`, name, text)
}
