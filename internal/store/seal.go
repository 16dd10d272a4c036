package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/holdfast-mcp/holdfast/internal/keys"
)

// cell is where a sealed value belongs. Beside the row's key it has the columns in clear that decide to whom the value is sent:
// whoever can write to the database but has no keys cannot have a secret delivered elsewhere.
type cell struct {
	table  string
	column string
	row    []string
}

// associatedData is different for any two cells: each part is preceded by its length.
func (c cell) associatedData() []byte {
	data := []byte("holdfast/store/1")
	for _, part := range append([]string{c.table, c.column}, c.row...) {
		data = binary.AppendUvarint(data, uint64(len(part)))
		data = append(data, part...)
	}
	return data
}

type sealer struct{ aead tink.AEAD }

func (s sealer) bytes(plain []byte, at cell) ([]byte, error) {
	sealed, err := s.aead.Encrypt(plain, at.associatedData())
	if err != nil {
		return nil, fmt.Errorf("seal %s.%s: %w", at.table, at.column, err)
	}
	return sealed, nil
}

func (s sealer) open(sealed []byte, at cell) ([]byte, error) {
	plain, err := s.aead.Decrypt(sealed, at.associatedData())
	if err != nil {
		return nil, fmt.Errorf("cannot be unsealed: %w", err)
	}
	return plain, nil
}

// errNotJSON stands for the decoder's own error, which may quote a value.
var errNotJSON = errors.New("is not the JSON object that is expected")

func (s sealer) openJSON(sealed []byte, at cell, out any) error {
	plain, err := s.open(sealed, at)
	if err != nil {
		return err
	}
	if len(plain) == 0 || plain[0] != '{' || json.Unmarshal(plain, out) != nil {
		return errNotJSON
	}
	return nil
}

const (
	purposeAEAD = "aead"
	purposeMAC  = "mac"
)

var proofText = []byte("these are the keysets of this database")

// proveKeysets leaves a proof of the keysets in a new database, and compares it in one that has it. A wrong keyset is found here
// rather than as a store full of damaged rows.
func proveKeysets(ctx context.Context, db *sql.DB, path string, owned *keys.Keys) error {
	seal := sealer{aead: owned.AEAD()}
	at := cell{table: "keyset_proof", column: "proof", row: []string{purposeAEAD}}
	for _, each := range []struct {
		purpose string
		compute func() ([]byte, error)
		check   func(proof []byte) error
	}{
		{purposeAEAD, func() ([]byte, error) { return seal.bytes(proofText, at) }, func(proof []byte) error {
			_, err := seal.open(proof, at)
			return err
		}},
		{purposeMAC, func() ([]byte, error) { return owned.MAC().ComputeMAC(proofText) }, func(proof []byte) error {
			return owned.MAC().VerifyMAC(proof, proofText)
		}},
	} {
		var proof []byte
		err := db.QueryRowContext(ctx, sqlProof, each.purpose).Scan(&proof)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			err = putProof(ctx, db, each.purpose, each.compute)
		case err == nil && each.check(proof) != nil:
			err = &WrongKeysetError{Path: path, KeyDir: owned.Dir(), Purpose: each.purpose}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func putProof(ctx context.Context, db *sql.DB, purpose string, compute func() ([]byte, error)) error {
	proof, err := compute()
	if err != nil {
		return fmt.Errorf("prove keyset: %w", err)
	}
	if _, err := db.ExecContext(ctx, sqlPutProof, purpose, proof); err != nil {
		return fmt.Errorf("write proof of keyset: %w", err)
	}
	return nil
}
