package keys

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Rotate adds a new key to the AEAD keyset and seals with it from now on; what older keys sealed stays readable. Other processes
// take the new key up the first time they meet something that it sealed.
func (k *Keys) Rotate() (err error) {
	unlock, err := lock(k.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	path := filepath.Join(k.dir, aeadFile)
	handle, _, err := loadHandle(path)
	if err != nil {
		return err
	}
	data, err := withNewPrimary(handle)
	if err != nil {
		return err
	}
	if err := writeFile(path, data); err != nil {
		return err
	}
	_, err = k.aead.reload()
	return err
}

func withNewPrimary(handle *keyset.Handle) ([]byte, error) {
	manager := keyset.NewManagerFromHandle(handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("add key: %w", err)
	}
	if err := manager.SetPrimary(id); err != nil {
		return nil, fmt.Errorf("make key primary: %w", err)
	}
	rotated, err := manager.Handle()
	if err != nil {
		return nil, fmt.Errorf("rotate keyset: %w", err)
	}
	return encode(rotated)
}

// reloadingAEAD reads its file again when something cannot be unsealed and the file has changed since: another process may have
// rotated the keyset and sealed with the new key.
type reloadingAEAD struct {
	path string

	mu      sync.RWMutex
	current tink.AEAD
	seen    os.FileInfo
}

func newReloadingAEAD(path string) (*reloadingAEAD, error) {
	primitive, info, err := loadAEAD(path)
	if err != nil {
		return nil, err
	}
	return &reloadingAEAD{path: path, current: primitive, seen: info}, nil
}

// Encrypt seals plaintext with the primary key, bound to associatedData.
func (a *reloadingAEAD) Encrypt(plaintext, associatedData []byte) ([]byte, error) {
	return a.primitive().Encrypt(plaintext, associatedData)
}

// Decrypt unseals what any key of the keyset sealed with the same associatedData.
func (a *reloadingAEAD) Decrypt(ciphertext, associatedData []byte) ([]byte, error) {
	plaintext, err := a.primitive().Decrypt(ciphertext, associatedData)
	if err == nil || !a.changed() {
		return plaintext, err
	}
	fresh, reloadErr := a.reload()
	if reloadErr != nil {
		return nil, errors.Join(err, reloadErr)
	}
	return fresh.Decrypt(ciphertext, associatedData)
}

func (a *reloadingAEAD) primitive() tink.AEAD {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.current
}

// changed compares identity too: a rotation renames a new file into place, and two writes may share a timestamp.
func (a *reloadingAEAD) changed() bool {
	info, err := os.Stat(a.path)
	if err != nil {
		return false
	}
	a.mu.RLock()
	defer a.mu.RUnlock()
	return !os.SameFile(info, a.seen) || !info.ModTime().Equal(a.seen.ModTime()) || info.Size() != a.seen.Size()
}

func (a *reloadingAEAD) reload() (tink.AEAD, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	primitive, info, err := loadAEAD(a.path)
	if err != nil {
		return nil, err
	}
	a.current, a.seen = primitive, info
	return primitive, nil
}
