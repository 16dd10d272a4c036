package keys

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Present reports whether the folder holds a keyset, whole or damaged: then none may be made there.
func Present(dir string) bool {
	for _, name := range []string{aeadFile, macFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
