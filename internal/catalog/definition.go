package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/config/strictyaml"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

const (
	maxFile        = 1 << 20
	maxSources     = 500
	defaultTimeout = time.Minute
	minTimeout     = 100 * time.Millisecond
	maxTimeout     = time.Hour
)

var namePattern = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// definition is one source as its file has it, variables put in. It holds secrets and is never printed.
type definition struct {
	name    string
	timeout time.Duration

	url    *url.URL // over HTTP
	header http.Header

	command string // as a child process
	args    []string
	env     []string // KEY=value
	dir     string
}

func (d definition) local() bool { return d.url == nil }

// transport is how a source is reached, in words.
func (d definition) transport() string {
	if d.local() {
		return "stdio"
	}
	return "http"
}

// entry is a source in a file of mcpServers. What other clients keep in theirs beside it is known and has no meaning here.
type fileEntry struct {
	Type      string            `json:"type"`
	Transport string            `json:"transport"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Cwd       string            `json:"cwd"`
	Timeout   any               `json:"timeout"`
	Disabled  bool              `json:"disabled"`

	AlwaysAllow any `json:"alwaysAllow"`
	AutoApprove any `json:"autoApprove"`
	Description any `json:"description"`
}

// FileError is one thing that is wrong with a file of sources. It quotes no value.
type FileError struct {
	File   string
	Path   string // mcpServers.github.headers.Authorization; empty: the file as a whole
	Reason string
}

func (e *FileError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	}
	return fmt.Sprintf("%s: %s: %s", e.File, e.Path, e.Reason)
}

// readFile reads the sources, sorted by name. An empty path gives none.
func readFile(path string, lookup strictyaml.Lookup) ([]definition, error) {
	if path == "" {
		return nil, nil
	}
	data, err := strictyaml.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read sources: %w", err)
	}
	return parseFile(path, data, lookup)
}

func parseFile(path string, data []byte, lookup strictyaml.Lookup) ([]definition, error) {
	fault := func(at, reason string) error { return &FileError{File: path, Path: at, Reason: reason} }
	if _, err := policy.Canonical(data); err != nil { // the decoder would take the last of two equal keys
		return nil, fault("", err.Error())
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil || file.Servers == nil {
		return nil, fault("", `it needs "mcpServers", an object of sources by name`)
	}
	if len(file.Servers) > maxSources {
		return nil, fault("mcpServers", fmt.Sprintf("it has more than %d sources", maxSources))
	}
	var definitions []definition
	var faults []error
	for name, raw := range file.Servers {
		reader := &entryReader{file: path, path: "mcpServers." + name, lookup: lookup}
		if !namePattern.MatchString(name) {
			reader.fault("", "a source's name is 1 to 64 of a-z 0-9 _ -")
		}
		if source, wanted := reader.read(name, raw); wanted {
			definitions = append(definitions, source)
		}
		faults = append(faults, reader.faults...)
	}
	if len(faults) > 0 {
		slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
		return nil, errors.Join(faults...)
	}
	slices.SortFunc(definitions, func(a, b definition) int { return strings.Compare(a.name, b.name) })
	return definitions, nil
}

type entryReader struct {
	file   string
	path   string
	lookup strictyaml.Lookup
	faults []error
}

func (r *entryReader) fault(key, reason string) {
	at := r.path
	if key != "" {
		at += "." + key
	}
	r.faults = append(r.faults, &FileError{File: r.file, Path: at, Reason: reason})
}

func (r *entryReader) read(name string, raw json.RawMessage) (source definition, wanted bool) {
	var entry fileEntry
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&entry); err != nil {
		r.fault("", entryFault(err))
		return definition{}, false
	}
	if entry.Disabled {
		return definition{}, false
	}
	source = definition{name: name, timeout: r.timeout(entry.Timeout)}
	switch {
	case entry.URL != "" && entry.Command != "":
		r.fault("", "give url or command, not both")
	case entry.URL != "":
		r.remote(entry, &source)
	case entry.Command != "":
		r.child(entry, &source)
	default:
		r.fault("", "give url, or command")
	}
	return source, true
}

func (r *entryReader) remote(entry fileEntry, source *definition) {
	for _, kind := range []string{entry.Type, entry.Transport} {
		switch kind {
		case "", "http", "streamable-http", "streamableHttp":
		case "sse":
			r.fault("type", "the old SSE transport is not spoken: give the server's Streamable HTTP address, and streamable-http")
		default:
			r.fault("type", "with url it is streamable-http or http")
		}
	}
	if len(entry.Args)+len(entry.Env) > 0 || entry.Cwd != "" {
		r.fault("", "args, env and cwd go with command, not with url")
	}
	parsed, err := url.Parse(r.expand("url", entry.URL))
	switch {
	case err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https"):
		r.fault("url", "it is no http or https address")
	case parsed.User != nil:
		r.fault("url", "it holds a password: put it into headers, as Authorization")
	default:
		source.url = parsed
	}
	source.header = http.Header{}
	for key, value := range entry.Headers {
		value = r.expand("headers."+key, value)
		if key == "" || strings.ContainsAny(key, " \t\r\n:") || strings.ContainsAny(value, "\r\n\x00") {
			r.fault("headers."+strings.TrimSpace(key), "it is no header")
			continue
		}
		source.header.Set(key, value)
	}
}

func (r *entryReader) child(entry fileEntry, source *definition) {
	for _, kind := range []string{entry.Type, entry.Transport} {
		if kind != "" && kind != "stdio" {
			r.fault("type", "with command it is stdio")
		}
	}
	if len(entry.Headers) > 0 {
		r.fault("headers", "they go with url, not with command")
	}
	source.command = r.expand("command", entry.Command)
	for i, arg := range entry.Args {
		source.args = append(source.args, r.expand(fmt.Sprintf("args[%d]", i), arg))
	}
	for key, value := range entry.Env {
		if key == "" || strings.ContainsAny(key, "=\x00") {
			r.fault("env", "a variable has no name, or one with = in it")
		}
		source.env = append(source.env, key+"="+r.expand("env."+key, value))
	}
	slices.Sort(source.env)
	source.dir = r.expand("cwd", entry.Cwd)
}

func (r *entryReader) timeout(value any) time.Duration {
	if value == nil {
		return defaultTimeout
	}
	text, _ := value.(string) // a number has no unit, and clients do not agree on one
	limit, err := time.ParseDuration(text)
	if err != nil {
		r.fault("timeout", `write a number and a unit, such as "60s"`)
	} else if limit < minTimeout || limit > maxTimeout {
		r.fault("timeout", fmt.Sprintf("give %s to %s", minTimeout, maxTimeout))
	}
	return limit
}

func (r *entryReader) expand(key, text string) string {
	value, err := expand(text, r.lookup)
	if err != nil {
		r.fault(key, err.Error())
	}
	return value
}

// entryFault says what does not fit, without the value that the decoder would quote.
func entryFault(err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		if kind.Field == "" {
			return "it must be an object"
		}
		return fmt.Sprintf("%s must be %s", kind.Field, kindWords(kind.Type.String()))
	}
	if _, name, found := strings.Cut(err.Error(), "unknown field "); found {
		return "unknown key " + name + ": known are args, command, cwd, disabled, env, headers, timeout, transport, type, url"
	}
	return "it does not fit"
}

func kindWords(kind string) string {
	switch {
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "map"):
		return "an object of texts"
	case strings.HasPrefix(kind, "[]"):
		return "a list of texts"
	default:
		return "a text"
	}
}

// variablePattern finds an escaped dollar sign, a variable with or without a default, and a `${` that is neither.
var variablePattern = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}|\$\{`)

// expand puts variables into text: ${NAME}, ${NAME:-default} for one that is not set or empty, $$ for a dollar sign.
func expand(text string, lookup strictyaml.Lookup) (string, error) {
	var problem error
	value := variablePattern.ReplaceAllStringFunc(text, func(match string) string {
		if match == "$$" {
			return "$"
		}
		parts := variablePattern.FindStringSubmatch(match)
		if parts[1] == "" {
			problem = errors.New("${ does not begin a variable: write ${NAME} or ${NAME:-default}, or $${ for the two characters")
			return ""
		}
		held, set := lookup(parts[1])
		if !set {
			held = ""
		}
		switch {
		case parts[2] != "" && held == "":
			return strings.TrimPrefix(parts[2], ":-")
		case !set:
			problem = fmt.Errorf("variable %s is not set: set it, or write ${%s:-default}", parts[1], parts[1])
		}
		return held
	})
	return value, problem
}

// environment is what a child process sees of ours: what programs need to run at all, and no secret of the gateway.
func environment() []string {
	var kept []string
	for _, name := range []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "SystemRoot", "TEMP", "TERM", "TMP", "TMPDIR", "USER"} {
		if value, set := os.LookupEnv(name); set {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}
