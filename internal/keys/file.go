package keys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	// maxKeysetBytes is far above a keyset of a hundred rotated keys.
	maxKeysetBytes = 1 << 20

	tempPrefix = "unfinished-"
)

// readFile reads a keyset and checks what can be checked without looking inside. The answer's FileInfo is of the very file read.
func readFile(path string) ([]byte, os.FileInfo, error) {
	// Asked before opening, because opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, &RefusedError{File: path, Reason: ReasonUnreadable, Cause: err}
	}
	if !info.Mode().IsRegular() {
		return nil, nil, &RefusedError{File: path, Reason: ReasonUnreadable}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, &RefusedError{File: path, Reason: ReasonUnreadable, Cause: err}
	}
	data, info, err := readOpen(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, nil, &RefusedError{File: path, Reason: ReasonUnreadable, Cause: err}
	}
	switch perm := info.Mode().Perm(); {
	case perm&0o077 != 0:
		return nil, nil, &RefusedError{File: path, Reason: ReasonMode, Mode: perm}
	case len(data) == 0:
		return nil, nil, &RefusedError{File: path, Reason: ReasonEmpty}
	case len(data) > maxKeysetBytes:
		return nil, nil, &RefusedError{File: path, Reason: ReasonTooLarge}
	default:
		return data, info, nil
	}
}

func readOpen(file *os.File) ([]byte, os.FileInfo, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxKeysetBytes+1))
	return data, info, err
}

// writeFile puts data at path so that a reader, and a machine that loses power, has the old file or the whole new one.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, tempPrefix+"*") // mode 0600
	if err != nil {
		return fmt.Errorf("write keyset: %w", err)
	}
	_, err = temp.Write(data)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write keyset %s: %w", path, err), os.Remove(temp.Name()))
	}
	return syncDir(dir)
}

// sweep removes what a process that crashed while writing left behind: it may hold keys. It is called under the lock.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("look for unfinished keysets: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), tempPrefix) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("remove unfinished keyset: %w", err)
		}
	}
	return nil
}

// syncDir makes a rename or a removal in dir durable.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync keyset folder: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("sync keyset folder: %w", err)
	}
	return nil
}
