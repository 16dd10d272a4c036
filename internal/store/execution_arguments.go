package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// SizedArguments are the arguments of an execution, or only how long they are.
type SizedArguments struct {
	Size int    // in bytes as they are kept: sealed, which makes them some dozens longer
	JSON []byte `json:"-"` // nil where they are longer than was asked for
}

// sized is one row of them.
type sized struct {
	key       string
	arguments SizedArguments
}

// Arguments reads the arguments of executions by one query, those that are no longer than limit (of [SizedArguments].Size), and of the
// others the length alone: they are not read from the disk. Of keys the first [MaxLimit] count; one that is not there is left out, and
// so is one that cannot be read, for which the error joins a *[CorruptRowError].
func (s *Store) Arguments(ctx context.Context, keys []string, limit int) (map[string]SizedArguments, error) {
	found := map[string]SizedArguments{}
	keys = keys[:min(len(keys), MaxLimit)]
	if len(keys) == 0 {
		return found, nil
	}
	named := make([]any, len(keys))
	for i, key := range keys {
		named[i] = key
	}
	query := &selection{word: " WHERE "}
	query.add(sqlSizedArguments, []any{limit})
	query.where("key IN (?"+strings.Repeat(", ?", len(keys)-1)+")", named...)
	rows, err := list(ctx, s.read, query.text.String(), query.args, s.scanSized)
	for _, each := range rows {
		found[each.key] = each.arguments
	}
	if err != nil {
		return found, fmt.Errorf("read arguments of executions: %w", err)
	}
	return found, nil
}

func (s *Store) scanSized(row scanner) (sized, error) {
	var of Execution
	var session sql.NullString
	var out sized
	var sealed []byte
	err := row.Scan(&of.Key, &of.Identity.Account, &of.Identity.Organisation, &session, &of.Mode, &of.Resource, &of.Address, &of.Digest,
		&of.Policy, &out.arguments.Size, &sealed)
	if err != nil {
		return sized{}, err
	}
	out.key, of.Session = of.Key, session.String
	if sealed != nil {
		out.arguments.JSON, err = s.reveal(sealed, executionCell(of, "arguments"), described("key", of.Key))
	}
	return out, err
}
