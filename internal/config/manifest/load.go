package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-mcp/holdfast/internal/config/strictyaml"
)

const maxFileBytes = 16 << 20

// Load reads the files as one manifest. lookup gives the values of variables; os.LookupEnv is the usual one. The error joins
// everything that is wrong in all files.
func Load(lookup strictyaml.Lookup, files ...string) (Manifest, error) {
	var whole Manifest
	var faults []error
	for _, file := range files {
		part, err := loadFile(lookup, file)
		faults = append(faults, err)
		whole.add(part)
	}
	if err := errors.Join(faults...); err != nil {
		return Manifest{}, err
	}
	return whole.resolve()
}

func loadFile(lookup strictyaml.Lookup, file string) (Manifest, error) {
	data, err := strictyaml.ReadFile(file, maxFileBytes)
	if err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	documents, err := strictyaml.Documents(file, data, Manifest{}, strictyaml.Options{Lookup: lookup})
	if err != nil {
		return Manifest{}, err
	}
	var whole Manifest
	for _, document := range documents {
		var part Manifest
		if err := document.Decode(&part); err != nil {
			return Manifest{}, err
		}
		whole.add(part)
	}
	if err := whole.settle(file); err != nil {
		return Manifest{}, err
	}
	return whole, nil
}

func (m *Manifest) add(part Manifest) {
	m.Engines = append(m.Engines, part.Engines...)
	m.Accounts = append(m.Accounts, part.Accounts...)
	m.Workspaces = append(m.Workspaces, part.Workspaces...)
}

// settle notes the file in every part, and resolves directories against the file's own folder.
func (m *Manifest) settle(file string) error {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("resolve manifest: %w", err)
	}
	for i := range m.Engines {
		m.Engines[i].file = file
	}
	for i := range m.Accounts {
		account := &m.Accounts[i]
		account.file = file
		for j := range account.Connections {
			account.Connections[j].file = file
		}
	}
	for i := range m.Workspaces {
		workspace := &m.Workspaces[i]
		workspace.file = file
		if workspace.Directory != "" {
			workspace.Directory = CleanDirectory(filepath.Dir(absolute), workspace.Directory)
		}
		for j := range workspace.Connections {
			workspace.Connections[j].file = file
		}
	}
	return nil
}

// CleanDirectory is directory as connections are keyed by it: absolute (a relative one is taken from base), cleaned, and with
// links resolved where it exists on this machine. An engine on another machine may have folders that this one has not.
func CleanDirectory(base, directory string) string {
	if !filepath.IsAbs(directory) {
		directory = filepath.Join(base, directory)
	}
	directory = filepath.Clean(directory)
	if resolved, err := filepath.EvalSymlinks(directory); err == nil {
		return resolved
	} else if !errors.Is(err, os.ErrNotExist) {
		return directory
	}
	// The folder itself may still be made; its parents may be links all the same.
	if parent, err := filepath.EvalSymlinks(filepath.Dir(directory)); err == nil {
		return filepath.Join(parent, filepath.Base(directory))
	}
	return directory
}
