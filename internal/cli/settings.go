package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/config"
)

// Settings reads the settings as the command's flags, the environment and the settings file have them. defaults are other
// defaults than those of the settings, for a command that has its own. An error is one of usage.
func (a *App) Settings(cmd *cobra.Command, defaults map[string]string) (config.Config, error) {
	loaded, err := config.Load(config.Options{Flags: cmd.Flags(), Environ: a.options.Environ, Defaults: defaults})
	if err != nil {
		return config.Config{}, &CodeError{Code: ExitUsage, Cause: err}
	}
	return loaded, nil
}

// environment is the process's environment, or that of a test.
type environment []string

// Environ lists the variables as KEY=value.
func (e environment) Environ() []string { return e }

// LookupEnv finds a variable. As in a process, the last of equal names wins.
func (e environment) LookupEnv(name string) (string, bool) {
	for i := len(e) - 1; i >= 0; i-- {
		if value, found := strings.CutPrefix(e[i], name+"="); found {
			return value, true
		}
	}
	return "", false
}

// set reports whether a variable has a value.
func (e environment) set(name string) bool {
	value, _ := e.LookupEnv(name)
	return value != ""
}

func (a *App) environment() environment { return environment(a.options.Environ) }
