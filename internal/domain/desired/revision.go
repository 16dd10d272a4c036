package desired

import (
	"encoding/hex"
	"errors"
	"fmt"
)

// MAC makes the keyed hash behind a revision. It must be deterministic.
type MAC interface {
	ComputeMAC(data []byte) ([]byte, error)
}

// revisionInput is everything that matters. Who asked, why and when does not.
type revisionInput struct {
	Profile  Profile          `json:"profile"`
	Config   Config           `json:"config"`
	Metadata revisionMetadata `json:"metadata"`
	// Left out where there is none: configs without a source keep their names.
	TokenSource *TokenSource `json:"tokenSource,omitempty"`
}

type revisionMetadata struct {
	Token                 revisionToken  `json:"token"`
	Org                   map[string]any `json:"org,omitempty"`
	ConnectCatalogEnabled bool           `json:"connectCatalogEnabled"`
	ExpectedTools         []string       `json:"expectedTools,omitempty"`
}

type revisionToken struct {
	Present  bool           `json:"present"`
	Metadata map[string]any `json:"metadata"`
}

// Revision is the name of a desired config, lower-case hex. Equal content gives
// an equal revision in every process that shares the key, whatever the spelling
// of the URL or the order of keys; another token, header or organisation gives
// another one. Without the key it reveals nothing, so it may be shown and logged.
func Revision(mac MAC, p Profile, c Config, m Metadata) (string, error) {
	return RevisionWith(mac, p, c, m, nil)
}

// RevisionWith is [Revision] of a config whose token comes from a source. All of
// the source counts, its secrets too; what it mints does not.
func RevisionWith(mac MAC, p Profile, c Config, m Metadata, src *TokenSource) (string, error) {
	if normal, err := NormaliseURL(p, c.URL); err == nil {
		c.URL = normal
	}
	token := facts(m.Token)
	input := revisionInput{Profile: p, Config: c, Metadata: revisionMetadata{
		Token:                 revisionToken{Present: authorized(c.Headers) || len(token) > 0 || src != nil, Metadata: token},
		Org:                   facts(m.Org),
		ConnectCatalogEnabled: m.ConnectCatalogEnabled,
	}, TokenSource: src.normal()}
	if input.Metadata.Token.Metadata == nil {
		input.Metadata.Token.Metadata = map[string]any{}
	}
	if p != ProfileOpenWork {
		input.Metadata.ExpectedTools = m.ExpectedTools
	}
	text, err := Canonical(input)
	if err != nil {
		// Not wrapped: texts of encoding/json quote what they could not read.
		return "", errors.New("compute revision: the oauth member of the desired config is not JSON")
	}
	tag, err := mac.ComputeMAC(text)
	if err != nil {
		return "", fmt.Errorf("compute revision: %w", err)
	}
	return hex.EncodeToString(tag), nil
}
