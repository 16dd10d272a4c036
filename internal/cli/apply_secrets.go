package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
)

// maxSecretBytes is far above any header value or password.
const maxSecretBytes = 64 << 10

// engineOfFlags reads --engine and the credentials.
func (a *App) engineOfFlags(ctx context.Context, f applyFlags, usernameGiven bool) (plannedEngine, error) {
	var e plannedEngine
	if strings.Contains(f.engine, "://") {
		normal, err := manifest.EngineURL(f.engine)
		if err != nil {
			return e, usagef("--engine %w", err)
		}
		e.id, e.url, e.derived = manifest.EngineID(normal), normal, true
	} else {
		e.id = f.engine
	}
	if usernameGiven {
		if strings.Contains(f.engineUsername, ":") {
			return e, usagef("--engine-username must not contain a colon")
		}
		e.username = &f.engineUsername
	}
	password, err := a.passwordOfFlags(ctx, f)
	e.password = password
	return e, err
}

func (a *App) passwordOfFlags(ctx context.Context, f applyFlags) (*string, error) {
	switch {
	case f.enginePasswordEnv != "" && f.enginePasswordFile != "":
		return nil, usagef("give --engine-password-env or --engine-password-file, not both")
	case f.enginePasswordEnv != "":
		value, err := a.variable(ctx, "--engine-password-env", f.enginePasswordEnv)
		return &value, err
	case f.enginePasswordFile != "":
		value, err := a.secretFile(ctx, "--engine-password-file", f.enginePasswordFile)
		return &value, err
	default:
		return nil, nil
	}
}

// headersOfFlags joins the three ways to give a header.
func (a *App) headersOfFlags(ctx context.Context, f applyFlags) (map[string]string, error) {
	headers := headerSet{values: map[string]string{}, taken: map[string]bool{}}
	for i, text := range f.headers {
		name, value, found := strings.Cut(text, ":")
		if !found {
			return nil, usagef("--header number %d is not of the form 'Name: value'", i+1)
		}
		if err := headers.add("--header", name, value); err != nil {
			return nil, err
		}
	}
	for _, source := range []struct {
		flag   string
		values []string
		read   func(ctx context.Context, flag, where string) (string, error)
	}{
		{"--header-env", f.headerEnv, a.variable},
		{"--header-file", f.headerFiles, a.secretFile},
	} {
		for i, text := range source.values {
			name, where, found := strings.Cut(text, "=")
			if !found || where == "" {
				return nil, usagef("%s number %d is not of the form NAME=SOURCE", source.flag, i+1)
			}
			value, err := source.read(ctx, source.flag, where)
			if err != nil {
				return nil, err
			}
			if err := headers.add(source.flag, name, value); err != nil {
				return nil, err
			}
		}
	}
	return headers.values, nil
}

// headerSet has each header once, whatever its case. Its errors name flag and header, never a value.
type headerSet struct {
	values map[string]string
	taken  map[string]bool
}

func (h headerSet) add(flag, name, value string) error {
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	folded := strings.ToLower(name)
	switch {
	case name == "":
		return usagef("%s: a header has no name", flag)
	case value == "":
		return usagef("%s: header %s has no value", flag, name)
	case h.taken[folded]:
		return usagef("%s: header %s is given twice", flag, name)
	}
	h.taken[folded] = true
	h.values[name] = value
	return nil
}

// variable is the value of an environment variable.
func (a *App) variable(_ context.Context, flag, name string) (string, error) {
	value, found := a.environment().LookupEnv(name)
	if !found || value == "" {
		return "", usagef("%s: the variable%s is not set or empty; give the name of a variable, not the value", flag, named(name))
	}
	return value, nil
}

// looksLikeVariable holds for names in capitals. With digits it takes an underscore as well, since secrets in capitals have none.
var looksLikeVariable = regexp.MustCompile(`^(?:[A-Z]{1,24}|[A-Z][A-Z0-9]{0,24}(?:_[A-Z0-9]{1,24}){1,8})$`)

// named is a variable's name for an error. What may be a value that was given in its place is left out.
func named(variable string) string {
	if !looksLikeVariable.MatchString(variable) {
		return ""
	}
	return " " + variable
}

// secretFile is the content of a file, without the line's end.
func (a *App) secretFile(ctx context.Context, flag, path string) (string, error) {
	base, err := a.workDir()
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	value, err := patiently(ctx, func() (string, error) { return readSecret(path) })
	if err != nil && ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	if err != nil {
		return "", usagef("%s: %w", flag, err)
	}
	return value, nil
}

func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		var fault *os.PathError
		if errors.As(err, &fault) {
			// The path is left out: a value given in its place would be shown.
			return "", fmt.Errorf("the file cannot be read: %w; give the path of a file, not the value", fault.Err)
		}
		return "", err
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", path, err)
	case len(raw) > maxSecretBytes:
		return "", fmt.Errorf("%s is larger than %d bytes", path, maxSecretBytes)
	}
	value := strings.TrimRight(string(raw), "\r\n")
	if value == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return value, nil
}
