package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

const doctorLimit = 2 * time.Minute

// level says how much a finding matters.
type level string

const (
	levelOK   level = "ok"
	levelInfo level = "info" // nothing is wrong, and it is worth to know
	levelWarn level = "warn"
	levelFail level = "fail"
)

// finding is one line of a diagnosis.
type finding struct {
	Level   level  `json:"level"`
	Subject string `json:"subject"`
	Message string `json:"message"`
	Action  string `json:"action,omitempty"` // what to do; only what is ok has none
}

// findings are collected by several checks at once.
type findings struct {
	mu   sync.Mutex
	list []finding
}

func (f *findings) add(found ...finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, found...)
}

func (f *findings) ok(subject, format string, args ...any) {
	f.add(finding{Level: levelOK, Subject: subject, Message: fmt.Sprintf(format, args...)})
}

func (f *findings) info(subject, action, format string, args ...any) {
	f.add(finding{Level: levelInfo, Subject: subject, Message: fmt.Sprintf(format, args...), Action: action})
}

func (f *findings) warn(subject, action, format string, args ...any) {
	f.add(finding{Level: levelWarn, Subject: subject, Message: fmt.Sprintf(format, args...), Action: action})
}

func (f *findings) fail(subject, action, format string, args ...any) {
	f.add(finding{Level: levelFail, Subject: subject, Message: fmt.Sprintf(format, args...), Action: action})
}

func (f *findings) failed() (n int) {
	for _, one := range f.list {
		if one.Level == levelFail {
			n++
		}
	}
	return n
}

func newDoctor(a *App) *cobra.Command {
	var engines []string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check Temporal, store, keysets, engines, tokens and MCP servers; say what to do",
		Long: "Checks keysets, store, Temporal with its namespace, retention and search attributes, workers, what is wanted against what\n" +
			"runs, every engine, every source of tokens and every MCP server in the store, the rules, every source of tools, and the\n" +
			"gateway. It changes nothing, and mints no token.\n\n" +
			"Each finding is ok, info, warn or fail, and says what to do. Exit code 0 when nothing fails, 1 when a check fails, 2 when the\n" +
			"command was not understood.",
		Args: noArguments,
	}
	cmd.RunE = a.with(func(ctx context.Context, s *session, _ []string) error {
		for i, raw := range engines {
			normal, err := manifest.EngineURL(raw)
			if err != nil {
				return usagef("--engine number %d %w", i+1, err)
			}
			engines[i] = normal
		}
		ctx, cancel := context.WithTimeout(ctx, doctorLimit)
		defer cancel()
		found := &findings{}
		s.examine(ctx, engines, found)
		if err := a.printFindings(found); err != nil {
			return err
		}
		if n := found.failed(); n > 0 {
			return fmt.Errorf("%d of %s failed", n, count(len(found.list), "check"))
		}
		return nil
	})
	cmd.Flags().StringArrayVar(&engines, "engine", nil, "URL of an engine to check beside those in the store (repeatable)")
	return cmd
}

// examine goes from what everything needs to what one connection needs.
func (s *session) examine(ctx context.Context, engines []string, found *findings) {
	s.examineLocal(ctx, found)
	served := s.examineTemporal(ctx, found)
	s.examineEngines(ctx, engines, found)
	if s.opened == nil {
		return
	}
	var failed map[store.Key]health.Failure
	if served {
		failed = s.examineWorkflows(ctx, found)
	}
	s.examineIntents(ctx, found)
	s.examineWanted(ctx, failed, found)
	s.examineTools(ctx, found)
	s.examineGateway(ctx, found)
}

func (s *session) examineLocal(ctx context.Context, found *findings) {
	keyset, err := s.keys()
	switch {
	case err == nil:
		found.ok("keysets", "both can be used, in %s", keyset.Dir())
	case !keys.Present(s.settings.Keys.Dir):
		found.fail("keysets", "run holdfast setup, or name the right folder: --data-dir", "none in %s", s.settings.Keys.Dir)
	default:
		found.fail("keysets", "restore them from a backup: what is sealed opens with no others", "%v", err)
	}
	if keyset == nil {
		found.fail("store", "mend the keysets first", "cannot be opened without keysets")
		return
	}
	if !exists(s.settings.Store.Path) {
		found.fail("store", "run holdfast setup, or name the right folder: --data-dir", "none at %s", s.settings.Store.Path)
		return
	}
	st, err := s.store(ctx)
	if err == nil {
		err = st.Ping(ctx)
	}
	if err != nil {
		found.fail("store", storeAction(err), "%v", err)
		return
	}
	found.ok("store", "can be read, tables are current, at %s", st.Path())
}

// storeAction is the next step for a store that cannot be used.
func storeAction(err error) string {
	var (
		keyset *store.WrongKeysetError
		newer  *store.NewerSchemaError
	)
	switch {
	case errors.As(err, &keyset):
		return "name the folder of the store's own keysets (keys.dir, --data-dir), or restore store and keysets from one backup"
	case errors.As(err, &newer):
		return "use the newer release"
	case isCorrupt(err):
		return "apply that again, or restore store and keysets from one backup"
	default:
		return "check that the file is a database of Holdfast, that this user may write it, and that the disk is not full"
	}
}

func (a *App) printFindings(found *findings) error {
	if a.JSON() {
		return a.printJSON(map[string]any{"ok": found.failed() == 0, "findings": found.list})
	}
	t := a.newTable()
	for _, one := range found.list {
		text := one.Message
		if one.Action != "" {
			text += "\n→ " + one.Action
		}
		t.AppendRow([]any{one.Level, one.Subject, text})
	}
	t.Render()
	return nil
}

// sentence is a failure as a part of a longer text.
func sentence(f health.Failure) string { return strings.TrimSuffix(f.Error(), ".") }

// unjoin takes joined errors apart, so that each is a finding of its own.
func unjoin(err error) []error {
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
