// Package buildinfo tells which build this is.
package buildinfo

import (
	"runtime/debug"
)

// release is set by the linker: -ldflags "-X …/internal/buildinfo.release=v1.2.3".
var release string

// Version is the release, else what the Go tool knows of the module and the commit, else "dev".
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "dev-" + s.Value[:12]
		}
	}
	return "dev"
}
