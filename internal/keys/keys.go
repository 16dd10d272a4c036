package keys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/holdfast-mcp/holdfast/internal/filelock"
)

const (
	aeadFile = "aead.json"
	macFile  = "mac.json"
	lockFile = "keys.lock"
	// creatingFile exists only while the first two files are being written: it tells a crash in between, after which the rest may
	// be created, from a keyset that was lost, which may not.
	creatingFile = "creating"

	lockTimeout = 30 * time.Second
)

// Keys gives the primitives of one keyset folder. It is safe for concurrent use.
type Keys struct {
	dir  string
	mac  tink.MAC
	aead *reloadingAEAD
}

// Open reads the keysets of dir. In a folder that has none it creates both, with mode 0600 in a folder of mode 0700; processes
// that open the same folder at once get the same keys. A keyset that is there but cannot be used gives a *RefusedError and is
// left as it is.
func Open(dir string) (*Keys, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve keyset folder: %w", err)
	}
	if err := prepareDir(dir); err != nil {
		return nil, err
	}
	complete, err := isComplete(dir)
	if err != nil {
		return nil, err
	}
	if !complete {
		if err := create(dir); err != nil {
			return nil, err
		}
	}
	aead, err := newReloadingAEAD(filepath.Join(dir, aeadFile))
	if err != nil {
		return nil, err
	}
	mac, err := loadMAC(filepath.Join(dir, macFile))
	if err != nil {
		return nil, err
	}
	return &Keys{dir: dir, mac: mac, aead: aead}, nil
}

// AEAD seals and unseals. It goes on working when another process rotates the keyset.
func (k *Keys) AEAD() tink.AEAD { return k.aead }

// MAC computes the 32-byte tags that revisions are made of.
func (k *Keys) MAC() tink.MAC { return k.mac }

// Dir is the absolute path of the keyset folder.
func (k *Keys) Dir() string { return k.dir }

// prepareDir creates the folder, and refuses one in which others could put files of theirs.
func prepareDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return &RefusedError{File: dir, Reason: ReasonUnreadable, Cause: err}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return &RefusedError{File: dir, Reason: ReasonUnreadable, Cause: err}
	}
	if info.Mode().Perm()&0o022 != 0 {
		return &RefusedError{File: dir, Reason: ReasonMode, Mode: info.Mode().Perm()}
	}
	return nil
}

// isComplete tells whether both keysets are there and nobody is still creating them. It takes no lock, so that a folder mounted
// read-only can be used.
func isComplete(dir string) (bool, error) {
	for _, want := range []struct {
		name   string
		exists bool
	}{{creatingFile, false}, {aeadFile, true}, {macFile, true}} {
		exists, err := present(filepath.Join(dir, want.name))
		if err != nil || exists != want.exists {
			return false, err
		}
	}
	return true, nil
}

// present uses Lstat: a link that leads nowhere is a keyset that cannot be read, not one that was never made.
func present(path string) (bool, error) {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	default:
		return false, &RefusedError{File: path, Reason: ReasonUnreadable, Cause: err}
	}
}

func create(dir string) (err error) {
	unlock, err := lock(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	creating, err := mayCreate(dir)
	if err != nil || !creating {
		return err
	}
	marker := filepath.Join(dir, creatingFile)
	if err := writeFile(marker, nil); err != nil {
		return err
	}
	for name, generate := range map[string]func() ([]byte, error){aeadFile: generateAEAD, macFile: generateMAC} {
		if err := createFile(filepath.Join(dir, name), generate); err != nil {
			return err
		}
	}
	if err := os.Remove(marker); err != nil {
		return fmt.Errorf("finish creating keysets: %w", err)
	}
	return syncDir(dir)
}

// mayCreate is called under the lock. One keyset without the other, and no sign of a creation that crashed, means that the
// other was lost.
func mayCreate(dir string) (bool, error) {
	found := map[string]bool{}
	for _, name := range []string{creatingFile, aeadFile, macFile} {
		exists, err := present(filepath.Join(dir, name))
		if err != nil {
			return false, err
		}
		found[name] = exists
	}
	switch {
	case found[creatingFile]:
		return true, nil
	case found[aeadFile] && found[macFile]:
		return false, nil
	case found[aeadFile]:
		return false, &RefusedError{File: filepath.Join(dir, macFile), Reason: ReasonMissing}
	case found[macFile]:
		return false, &RefusedError{File: filepath.Join(dir, aeadFile), Reason: ReasonMissing}
	default:
		return true, nil
	}
}

func createFile(path string, generate func() ([]byte, error)) error {
	exists, err := present(path)
	if err != nil || exists {
		return err
	}
	data, err := generate()
	if err != nil {
		return err
	}
	return writeFile(path, data)
}

func lock(dir string) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockTimeout)
	defer cancel()
	held, err := filelock.Acquire(ctx, filepath.Join(dir, lockFile))
	if err != nil {
		return nil, fmt.Errorf("lock keysets: %w", err)
	}
	if err := sweep(dir); err != nil {
		return nil, errors.Join(err, held.Release())
	}
	return held.Release, nil
}
