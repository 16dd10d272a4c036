package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/config"
	"github.com/holdfast-mcp/holdfast/internal/keys"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// session is what one command has opened. Each part is opened on first use, and closed with the session.
type session struct {
	app      *App
	settings config.Config

	keyset *keys.Keys
	opened *store.Store
	remote *Remote

	// closers end what uses the store and Temporal, the last one first.
	closers []func() error
}

// with runs a command in a session of its own.
func (a *App) with(run func(ctx context.Context, s *session, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		settings, err := a.Settings(cmd, nil)
		if err != nil {
			return err
		}
		s := &session{app: a, settings: settings}
		defer func() { err = errors.Join(err, s.close()) }()
		err = run(cmd.Context(), s, args)
		if s.remote != nil {
			err = explainRemote(err, s.remote.Namespace)
		}
		return err
	}
}

func (s *session) close() error {
	var late error
	for _, end := range slices.Backward(s.closers) {
		late = errors.Join(late, end())
	}
	if s.remote != nil && s.remote.Close != nil {
		s.remote.Close()
	}
	if s.opened != nil {
		late = errors.Join(late, s.opened.Close())
	}
	return late
}

// keys opens the keysets. Only setup may make new ones: made in a wrong folder they open nothing, and look right.
func (s *session) keys() (*keys.Keys, error) {
	if s.keyset != nil {
		return s.keyset, nil
	}
	dir := s.settings.Keys.Dir
	if !keys.Present(dir) {
		return nil, fmt.Errorf("no keysets in %s; run holdfast setup once, or name the right folder: --data-dir", dir)
	}
	return s.makeKeys()
}

func (s *session) makeKeys() (*keys.Keys, error) {
	keyset, err := keys.Open(s.settings.Keys.Dir)
	if err != nil {
		return nil, err
	}
	s.keyset = keyset
	return keyset, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// store opens the store, which migrates it.
func (s *session) store(ctx context.Context) (*store.Store, error) {
	if s.opened != nil {
		return s.opened, nil
	}
	keyset, err := s.keys()
	if err != nil {
		return nil, err
	}
	opened, err := store.Open(ctx, store.Options{Path: s.settings.Store.Path, Keys: keyset})
	if err != nil {
		return nil, err
	}
	s.opened = opened
	return opened, nil
}

// connect reaches Temporal, or says within 5 s that it cannot.
func (s *session) connect(ctx context.Context) (*Remote, error) {
	if s.remote != nil {
		return s.remote, nil
	}
	keyset, err := s.keys()
	if err != nil {
		return nil, err
	}
	return s.connectWith(ctx, keyset)
}

// connectWith takes no keysets too: then only the server itself can be looked at.
func (s *session) connectWith(ctx context.Context, keyset *keys.Keys) (*Remote, error) {
	o, err := s.app.temporalOptions(s.settings, keyset)
	if err != nil {
		return nil, err
	}
	remote, err := s.app.options.Connect(ctx, o, s.settings.Temporal.TaskQueue)
	if err != nil {
		return nil, explainDial(err)
	}
	s.remote = remote
	return remote, nil
}
