package store

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// content is what a desired config has in sealed columns, be it of a connection or of an account.
type content struct {
	config   desired.Config
	metadata desired.Metadata
	source   *desired.TokenSource
}

// plaintext is the sealed columns before sealing; source is nil where there is none.
type plaintext struct{ config, metadata, source []byte }

// sealedContent is the columns as they are stored.
type sealedContent struct{ config, metadata, source []byte }

func encode(what content) (text plaintext, err error) {
	if text.config, err = json.Marshal(what.config); err != nil {
		return plaintext{}, errors.New("the config cannot be written as JSON")
	}
	if text.metadata, err = json.Marshal(what.metadata); err != nil {
		return plaintext{}, errors.New("the metadata cannot be written as JSON")
	}
	if what.source == nil {
		return text, nil
	}
	if text.source, err = json.Marshal(what.source); err != nil { //nolint:gosec // sealed next
		return plaintext{}, errors.New("the token source cannot be written as JSON")
	}
	return text, nil
}

// sameAs compares in the form that a read gives back: an absent value and its null are the same.
func (t plaintext) sameAs(stored content) (bool, error) {
	there, err := encode(stored)
	if err != nil {
		return false, err
	}
	var read content
	if errors.Join(json.Unmarshal(t.config, &read.config), json.Unmarshal(t.metadata, &read.metadata)) != nil {
		return false, errNotJSON
	}
	if t.source != nil && json.Unmarshal(t.source, &read.source) != nil {
		return false, errNotJSON
	}
	again, err := encode(read)
	return bytes.Equal(there.config, again.config) && bytes.Equal(there.metadata, again.metadata) &&
		bytes.Equal(there.source, again.source), err
}

func (s *Store) sealContent(text plaintext, at func(column string) cell) (sealed sealedContent, err error) {
	if sealed.config, err = s.seal.bytes(text.config, at("config")); err != nil {
		return sealedContent{}, err
	}
	if sealed.metadata, err = s.seal.bytes(text.metadata, at("metadata")); err != nil {
		return sealedContent{}, err
	}
	if text.source == nil {
		return sealed, nil
	}
	sealed.source, err = s.seal.bytes(text.source, at("token_source"))
	return sealed, err
}

// openContent gives a *columnError where a column makes no sense.
func (s *Store) openContent(sealed sealedContent, profile desired.Profile, at func(column string) cell) (content, error) {
	if !profile.Valid() {
		return content{}, &columnError{column: "profile", cause: errors.New("is no profile")}
	}
	var opened content
	if err := s.seal.openJSON(sealed.config, at("config"), &opened.config); err != nil {
		return content{}, &columnError{column: "config", cause: err}
	}
	if err := s.seal.openJSON(sealed.metadata, at("metadata"), &opened.metadata); err != nil {
		return content{}, &columnError{column: "metadata", cause: err}
	}
	if sealed.source == nil {
		return opened, nil
	}
	if err := s.seal.openJSON(sealed.source, at("token_source"), &opened.source); err != nil {
		return content{}, &columnError{column: "token_source", cause: err}
	}
	return opened, nil
}

// columnError is a CorruptRowError that does not know its row yet.
type columnError struct {
	column string
	cause  error
}

func (e *columnError) Error() string { return e.column + ": " + e.cause.Error() }

// damaged adds the row to a columnError.
func damaged(err error, table, key string) error {
	var bad *columnError
	if errors.As(err, &bad) {
		return &CorruptRowError{Table: table, Key: key, Column: bad.column, Cause: bad.cause}
	}
	return err
}
