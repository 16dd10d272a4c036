// Package buildinfo tells which build this is.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// release is set by the linker: -ldflags "-X github.com/holdfast-mcp/holdfast/internal/buildinfo.release=v1.2.3".
var release string

// Build says what was built.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// Read reads the release that the linker wrote, and what the Go tool has written into this program.
func Read() Build {
	build := Build{Version: "dev", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if ok {
		build.read(info)
	}
	if release != "" {
		build.Version = release
	}
	return build
}

func (b *Build) read(info *debug.BuildInfo) {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.time":
			b.Time = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
}

// String is the build on one line.
func (b Build) String() string {
	text := "holdfast " + b.Version
	if b.Commit != "" {
		text += " (" + b.Commit[:min(12, len(b.Commit))]
		if b.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return text + " " + b.Go
}

// Version is the version alone, for names and labels.
func Version() string { return Read().Version }
