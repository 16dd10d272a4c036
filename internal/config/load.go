package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"

	"github.com/holdfast-mcp/holdfast/internal/config/strictyaml"
)

const (
	// FileVariable names the settings file where the flag does not.
	FileVariable = "HOLDFAST_CONFIG"
	// FileFlag is the flag that names the settings file.
	FileFlag = "config"

	openworkTimeoutVariable = "OPENWORK_CLOUD_MCP_PROBE_TIMEOUT_MS"

	maxFileBytes = 1 << 20
)

// Options say where settings come from. The zero value reads the process's environment and the file that it names.
type Options struct {
	File     string            // the settings file; empty: as the flag, then HOLDFAST_CONFIG, says; else none
	Flags    *pflag.FlagSet    // flags made by AddFlags; nil: none
	Environ  []string          // KEY=value; nil: the process's environment
	Defaults map[string]string // by path: other defaults than those of the struct, for a command that has its own
}

// AddFlags gives flags a flag for each of the settings with the given paths, for all when none is given, and --config.
func AddFlags(flags *pflag.FlagSet, paths ...string) error { return AddFlagsOf(flags, nil, paths...) }

// AddFlagsOf is [AddFlags] for a command with defaults of its own, by path: its help shows them.
func AddFlagsOf(flags *pflag.FlagSet, defaults map[string]string, paths ...string) error {
	wanted := map[string]bool{}
	for _, path := range paths {
		wanted[path] = true
	}
	for _, setting := range Settings() {
		if len(paths) > 0 && !wanted[setting.Path] {
			continue
		}
		usage := setting.Doc
		shown := setting.Shown
		if own, has := defaults[setting.Path]; has {
			shown = own
		}
		if shown != "" {
			usage += " (default " + shown + ")"
		}
		flags.String(setting.Flag, "", usage)
		delete(wanted, setting.Path)
	}
	for path := range wanted {
		if len(paths) > 0 {
			return fmt.Errorf("add flags: there is no setting %q", path)
		}
	}
	flags.String(FileFlag, "", "YAML file of settings (default: "+FileVariable+")")
	return nil
}

// Load reads, merges and validates the settings. The error joins everything that is wrong; each part names the file and line, or
// the setting and its variable.
func Load(options Options) (Config, error) {
	if options.Environ == nil {
		options.Environ = os.Environ()
	}
	environment := parseEnviron(options.Environ)
	merged := koanf.New(".")
	if err := mergeAll(merged, options, environment); err != nil {
		return Config{}, err
	}
	var config Config
	var faults []error
	for _, setting := range Settings() {
		if merged.Exists(setting.Path) {
			faults = append(faults, setting.assign(&config, merged.Get(setting.Path)))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return Config{}, fmt.Errorf("read settings: %w", err)
	}
	config.derive()
	if err := config.Validate(); err != nil {
		return Config{}, fmt.Errorf("check settings: %w", err)
	}
	return config, nil
}

func mergeAll(merged *koanf.Koanf, options Options, environment map[string]string) error {
	defaults, err := defaultValues(options.Defaults, environment)
	if err != nil {
		return err
	}
	file, err := fileValues(options, environment)
	if err != nil {
		return err
	}
	for _, layer := range []koanf.Provider{
		confmap.Provider(defaults, "."),
		confmap.Provider(file, "."),
		confmap.Provider(openworkValues(environment), "."),
		envProvider(options.Environ),
	} {
		if err := merged.Load(layer, nil); err != nil {
			return fmt.Errorf("merge settings: %w", err)
		}
	}
	if options.Flags == nil {
		return nil
	}
	if err := merged.Load(flagProvider(options.Flags, merged), nil); err != nil {
		return fmt.Errorf("merge flags: %w", err)
	}
	return nil
}

func defaultValues(overrides, environment map[string]string) (map[string]any, error) {
	values := map[string]any{}
	if dir := dataHome(environment); dir != "" {
		values["data_dir"] = filepath.Join(dir, "holdfast")
	}
	known := map[string]bool{}
	for _, setting := range Settings() {
		known[setting.Path] = true
		if setting.Default != "" {
			values[setting.Path] = setting.Default
		}
	}
	for path, value := range overrides {
		if !known[path] {
			return nil, fmt.Errorf("override default: there is no setting %q", path)
		}
		values[path] = value
	}
	return values, nil
}

// dataHome follows the XDG base directory rules: a relative XDG_DATA_HOME is ignored.
func dataHome(environment map[string]string) string {
	if dir := environment["XDG_DATA_HOME"]; filepath.IsAbs(dir) {
		return dir
	}
	if home := environment["HOME"]; filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share")
	}
	return ""
}

func fileValues(options Options, environment map[string]string) (map[string]any, error) {
	path := options.File
	if path == "" && options.Flags != nil {
		if flag := options.Flags.Lookup(FileFlag); flag != nil {
			path = flag.Value.String()
		}
	}
	if path == "" {
		path = environment[FileVariable]
	}
	if path == "" {
		return map[string]any{}, nil
	}
	data, err := strictyaml.ReadFile(path, maxFileBytes)
	if err != nil {
		return nil, fmt.Errorf("read settings file: %w", err)
	}
	return parseFile(path, data)
}

func parseFile(path string, data []byte) (map[string]any, error) {
	documents, err := strictyaml.Documents(path, data, Config{}, strictyaml.Options{Text: true})
	if err != nil {
		return nil, fmt.Errorf("read settings file: %w", err)
	}
	if len(documents) > 1 {
		return nil, fmt.Errorf("read settings file: %s must hold one document", path)
	}
	values := map[string]any{}
	for _, document := range documents {
		var nested map[string]any
		if err := document.Decode(&nested); err != nil {
			return nil, fmt.Errorf("read settings file: %w", err)
		}
		flat, _ := maps.Flatten(nested, nil, ".")
		for key, value := range flat {
			if value != nil { // a key without a value leaves the default
				values[key] = value
			}
		}
	}
	return values, nil
}

func parseEnviron(environ []string) map[string]string {
	values := make(map[string]string, len(environ))
	for _, entry := range environ {
		if key, value, found := strings.Cut(entry, "="); found {
			values[key] = value
		}
	}
	return values
}

// envProvider takes the variables of known settings. An empty variable counts as not set. Unknown names under our prefix are left
// alone: a cluster sets such names for a service called holdfast.
func envProvider(environ []string) koanf.Provider {
	paths := map[string]string{}
	for _, setting := range Settings() {
		paths[setting.Env] = setting.Path
	}
	return env.Provider(".", env.Opt{
		Prefix:      envPrefix,
		EnvironFunc: func() []string { return environ },
		TransformFunc: func(key, value string) (string, any) {
			if value == "" {
				return "", nil
			}
			return paths[key], value
		},
	})
}

func flagProvider(flags *pflag.FlagSet, merged *koanf.Koanf) koanf.Provider {
	paths := map[string]string{}
	for _, setting := range Settings() {
		paths[setting.Flag] = setting.Path
	}
	return posflag.ProviderWithFlag(flags, ".", merged, func(flag *pflag.Flag) (string, any) {
		if !flag.Changed {
			return "", nil
		}
		return paths[flag.Name], flag.Value.String()
	})
}

// openworkValues reads the probe timeout as OpenWork does: what is no number, or zero, leaves the default.
func openworkValues(environment map[string]string) map[string]any {
	millis, err := strconv.ParseFloat(strings.TrimSpace(environment[openworkTimeoutVariable]), 64)
	if err != nil || math.IsInf(millis, 0) || !(millis > 0) {
		return map[string]any{}
	}
	return map[string]any{"endpoint.timeout": strconv.FormatFloat(millis, 'f', -1, 64) + "ms"}
}
