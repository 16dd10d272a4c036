package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// PutAudit writes lines of the audit in one transaction, all or none.
func (s *Store) PutAudit(ctx context.Context, lines ...Audit) error {
	if len(lines) == 0 {
		return nil
	}
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		many, one := tx.StmtContext(ctx, s.run.putAudits), tx.StmtContext(ctx, s.run.putAudit)
		for len(lines) >= auditBatch {
			if _, err := many.ExecContext(ctx, auditArgs(lines[:auditBatch])...); err != nil {
				return err
			}
			lines = lines[auditBatch:]
		}
		for i := range lines {
			if _, err := one.ExecContext(ctx, auditArgs(lines[i:i+1])...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write audit: %w", err)
	}
	return nil
}

func auditArgs(lines []Audit) []any {
	args := make([]any, 0, auditWidth*len(lines))
	for _, a := range lines {
		args = append(args, stamp(a.At), a.Identity.Account, a.Identity.Organisation, a.Principal, a.Name, a.Via, a.Action,
			nullable(a.Session), nullable(a.Execution), a.Pause, nullable(a.Address), a.Digest, a.Policy, a.Outcome,
			a.Latency.Microseconds(), a.Reason)
	}
	return args
}

// AuditFilter selects lines of the audit; a field that is not set selects all.
type AuditFilter struct {
	Identity     *approval.Identity
	Organisation string
	Execution    string
	Session      string
	Address      string
	Limit        int   // 0: [DefaultLimit]; at most [MaxLimit]
	Before       int64 // the id of the last line of the list before; 0: from the newest
}

// AuditLog reads the lines that the filter selects, the newest first.
func (s *Store) AuditLog(ctx context.Context, filter AuditFilter) ([]Audit, error) {
	text, args := auditQuery(filter)
	found, err := list(ctx, s.read, text, args, scanAudit)
	if err != nil {
		return nil, fmt.Errorf("list audit: %w", err)
	}
	return found, nil
}

func auditQuery(filter AuditFilter) (string, []any) {
	query := selectFrom(sqlAudits).of(filter.Identity).is("organisation", filter.Organisation).is("execution", filter.Execution).
		is("session", filter.Session).is("address", filter.Address)
	if filter.Before > 0 {
		query.where("id < ?", filter.Before)
	}
	query.add(" ORDER BY id DESC LIMIT ?", []any{limited(filter.Limit)})
	return query.text.String(), query.args
}

func scanAudit(row scanner) (Audit, error) {
	var found Audit
	var session, execution, address sql.NullString
	var at, latency int64
	err := row.Scan(&found.ID, &at, &found.Identity.Account, &found.Identity.Organisation, &found.Principal, &found.Name, &found.Via,
		&found.Action, &session, &execution, &found.Pause, &address, &found.Digest, &found.Policy, &found.Outcome, &latency,
		&found.Reason)
	if err != nil {
		return Audit{}, missing(err)
	}
	found.Session, found.Execution, found.Address = session.String, execution.String, address.String
	found.At, found.Latency = fromMicros(at), time.Duration(latency)*time.Microsecond
	return found, nil
}
