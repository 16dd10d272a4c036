package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
)

// Build says what was built.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// ReadBuild reads what the Go tool has written into this program.
func ReadBuild() Build {
	build := Build{Version: buildinfo.Version(), Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			build.Commit = setting.Value
		case "vcs.time":
			build.Time = setting.Value
		case "vcs.modified":
			build.Modified = setting.Value == "true"
		}
	}
	return build
}

// String is the build on one line.
func (b Build) String() string {
	text := "holdfast " + b.Version
	if commit := b.Commit[:min(12, len(b.Commit))]; !strings.Contains(b.Version, commit) {
		text += " (" + commit + ")"
	}
	if b.Modified {
		text += " (modified)"
	}
	return text + " " + b.Go
}

func newVersion(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say what was built",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if a.JSON() {
				return a.printJSON(a.options.Build)
			}
			_, err := fmt.Fprintln(a.options.Stdout, a.options.Build.String())
			return err
		},
	}
}
