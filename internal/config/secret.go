package config

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

const hidden = "[hidden]"

// Secret is a text that does not show itself in logs, errors or JSON.
type Secret string

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal is the value itself.
func (s Secret) Reveal() string { return string(s) }

// maxSecretBytes is far above any path secret.
const maxSecretBytes = 4096

var pathSecretPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{16,}$`)

// Secret is the path secret, from the setting or from the file that it names; empty when there is none.
func (c Codec) Secret() (Secret, error) {
	if c.PathSecretFile == "" {
		return c.PathSecret, nil
	}
	secret, err := readSecret(c.PathSecretFile)
	if err != nil {
		return "", fmt.Errorf("read codec path secret: %w", err)
	}
	if !pathSecretPattern.MatchString(secret.Reveal()) {
		return "", fmt.Errorf("read codec path secret: %s must hold at least 16 of A-Z a-z 0-9 - _", c.PathSecretFile)
	}
	return secret, nil
}

func readSecret(path string) (Secret, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxSecretBytes))
	if err != nil {
		return "", err
	}
	return Secret(strings.TrimSpace(string(data))), nil
}
