package approval

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// ErrNotAnID is returned for text that is neither an execution's key nor a pause's id.
var ErrNotAnID = errors.New("not an execution's key or a pause's id")

var idPattern = regexp.MustCompile(`^(?:exec_)?([0-9a-f]{32})(?:_([1-9][0-9]{0,3}))?$`)

// NewKey makes an execution's key: 128 random bits, as 32 hexadecimal digits. Keys are never used again.
func NewKey() string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails: it would have ended the process
	return hex.EncodeToString(raw)
}

// PauseID is the id of the n-th pause of an execution, from 1.
func PauseID(key string, n int) string { return fmt.Sprintf("exec_%s_%d", key, n) }

// ParseID reads a pause's id, or an execution's bare key, with or without its prefix; then n is 0.
func ParseID(id string) (key string, n int, err error) {
	parts := idPattern.FindStringSubmatch(id)
	if parts == nil {
		return "", 0, ErrNotAnID
	}
	if parts[2] != "" {
		n, err = strconv.Atoi(parts[2])
	}
	return parts[1], n, err
}
