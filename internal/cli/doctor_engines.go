package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/diagnosis"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/engineapi"
	"github.com/holdfast-mcp/holdfast/internal/httpclient"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// examineEngines asks the engines in the store and the ones whose normal URLs are given.
func (s *session) examineEngines(ctx context.Context, named []string, found *findings) {
	var (
		engines []store.Engine
		wanted  map[string][]store.Key
	)
	if s.opened != nil {
		var err error
		if engines, err = s.opened.Engines(ctx); err != nil {
			for _, one := range unjoin(err) {
				found.fail("engines", storeAction(one), "%v", one)
			}
		}
		if wanted, err = wantedKeys(ctx, s.opened); err != nil {
			found.fail("store", storeAction(err), "%v", err)
		}
	}
	known := map[string]bool{}
	engines = slices.DeleteFunc(engines, func(e store.Engine) bool {
		known[e.BaseURL] = true
		idle := len(wanted[e.ID]) == 0 && !slices.Contains(named, e.BaseURL)
		if idle {
			found.info("engine "+e.ID, "where it is gone for good: holdfast engine remove "+e.ID, "no connection uses it; it was not asked")
		}
		return idle
	})
	for _, normal := range named {
		if !known[normal] {
			known[normal] = true
			engines = append(engines, store.Engine{ID: manifest.EngineID(normal), BaseURL: normal})
		}
	}
	inOrder(len(engines), found, func(i int) []finding { return s.examineEngine(ctx, engines[i], wanted[engines[i].ID]) })
	if homeless := wanted[""]; len(homeless) > 0 {
		found.fail("engines", "apply its workspace with an engine: holdfast connection apply",
			"%s no engine yet, such as %s", count(len(homeless), "connection")+pick(len(homeless), " has", " have"), short(homeless[0]))
	}
}

func (s *session) examineEngine(ctx context.Context, e store.Engine, keys []store.Key) []finding {
	one := &findings{}
	subject := "engine " + e.ID
	client, err := engineapi.New(engineapi.Options{
		BaseURL: e.BaseURL, Username: e.Username, Password: e.Password, Timeout: s.settings.Engine.Timeout,
	})
	if err != nil {
		one.fail(subject, "apply its connections again with the right URL: holdfast connection apply --engine", "%v", err)
		return one.list
	}
	defer client.Close()
	h, err := client.Health(ctx)
	switch {
	case err != nil:
		one.fail(subject, engineAction(err), "%s", engineFault(err, e))
		return one.list
	case !h.Healthy:
		one.fail(subject, "restart it", "says that it is not healthy")
		return one.list
	case h.Version != diagnosis.ExpectedEngineVersion:
		one.warn(subject, "use that version, or watch the first connection on this one closely: holdfast connection watch",
			"version %s answers at %s; this release is tested with %s", h.Version, e.BaseURL, diagnosis.ExpectedEngineVersion)
	default:
		one.ok(subject, "version %s answers at %s", h.Version, e.BaseURL)
	}
	s.examineConfiguration(ctx, client, keys, one)
	return one.list
}

// engineFault says what is wrong in words that name the cause.
func engineFault(err error, e store.Engine) string {
	if !refuses(err) {
		return err.Error()
	}
	if e.Password == "" {
		return "wants a password, and none is stored: " + err.Error()
	}
	return "refuses the username or the password that is stored: " + err.Error()
}

func engineAction(err error) string {
	switch {
	case refuses(err):
		return "apply one of its connections again with the right --engine-username and --engine-password-env (in a file: under engines)"
	case httpclient.KindOf(err) == httpclient.KindMalformed:
		return "check that the address is that of an OpenCode server, and not of something else"
	default:
		return "start it, or apply its connections again with the right URL: holdfast connection apply --engine"
	}
}

// refuses reports whether credentials are missing or wrong.
func refuses(err error) bool {
	var fault *httpclient.Error
	return errors.As(err, &fault) && (fault.Status == http.StatusUnauthorized || fault.Status == http.StatusForbidden)
}

// examineConfiguration looks for names that the engine's own configuration defines: those are never touched.
func (s *session) examineConfiguration(ctx context.Context, client *engineapi.Client, keys []store.Key, one *findings) {
	names := map[string][]string{}
	for _, key := range keys {
		if key.Directory != "" {
			names[key.Directory] = append(names[key.Directory], key.Name)
		}
	}
	for _, directory := range sortedNames(names) {
		servers, err := client.ConfiguredServers(ctx, directory)
		if err != nil {
			one.warn("directory "+directory, "check that the directory exists where the engine runs", "its configuration cannot be read: %v", err)
			continue
		}
		for _, key := range keys {
			if key.Directory == directory && slices.Contains(names[directory], key.Name) && definesServer(servers[key.Name]) {
				f := health.ConfigConflict(key.Name)
				one.fail("connection "+short(key), f.RecommendedAction, "%s (in %s)", sentence(f), directory)
			}
		}
	}
}

// definesServer reports whether an entry defines a server. One that only switches a server on or off does not.
func definesServer(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return false
	}
	var entry map[string]json.RawMessage
	if json.Unmarshal(raw, &entry) != nil {
		return true
	}
	delete(entry, "enabled")
	return len(entry) > 0
}
