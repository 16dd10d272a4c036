package dev

import (
	"io"

	"github.com/holdfast-mcp/holdfast/internal/config"
)

// Defaults of the command line.
const (
	DefaultTemporalPort = 7233
	DefaultUIPort       = 8233
	DefaultListen       = "127.0.0.1:8234"
)

// Defaults are the settings that differ from a worker's: everything happens fast enough to be watched.
func Defaults() map[string]string {
	return map[string]string{
		"inspect.poll_interval":  "1s",
		"inspect.probe_interval": "5s",
		"worker.stop_timeout":    "5s",
		"worker.health_listen":   "127.0.0.1:0",
	}
}

// Options are what the command was given.
type Options struct {
	Config  config.Config
	Version string

	// TemporalPort and UIPort are bound on loopback; 0 chooses a free one.
	TemporalPort int
	UIPort       int
	// Listen is the address of the codec endpoint; port 0 chooses a free one.
	Listen string
	NoDemo bool

	// JSON prints one JSON line on Out when everything serves, and nothing else there.
	JSON bool
	// Out gets what the command is for, Err how it comes along.
	Out io.Writer
	Err io.Writer
}
