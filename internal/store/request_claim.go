package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ClaimRequest makes somebody the holder of a request that nobody carries out at the time now, for some time: a holder lives
// as long as it renews its claim. claimed is false where it has another holder or its result; the request is given back as it
// is in both cases. ErrNotFound when it was pruned.
func (s *Store) ClaimRequest(ctx context.Context, id, holder string, now, until time.Time) (found Request, claimed bool, err error) {
	if holder == "" || !until.After(now) {
		return Request{}, false, errors.New("claim request: a holder and a time to come are needed")
	}
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, sqlClaimRequest, id, holder, toMicros(until), toMicros(now))
		if err != nil {
			return err
		}
		if claimed, err = affected(result); err != nil {
			return err
		}
		found, err = s.scanRequest(tx.QueryRowContext(ctx, sqlRequest, id))
		return err
	})
	if err != nil {
		return Request{}, false, fmt.Errorf("claim request %q: %w", id, err)
	}
	return found, claimed, nil
}

// RenewRequest prolongs a claim, and tells whether the request still has this holder and no result.
func (s *Store) RenewRequest(ctx context.Context, id, holder string, until time.Time) (held bool, err error) {
	result, err := s.exec(ctx, sqlRenewRequest, id, holder, toMicros(until))
	if err != nil {
		return false, fmt.Errorf("renew claim of request %q: %w", id, err)
	}
	return affected(result)
}

// ReleaseRequest lets others carry a request out at once. One that has another holder or its result is left alone.
func (s *Store) ReleaseRequest(ctx context.Context, id, holder string) error {
	if _, err := s.exec(ctx, sqlReleaseRequest, id, holder); err != nil {
		return fmt.Errorf("release request %q: %w", id, err)
	}
	return nil
}

// PlanRequest notes what was found before a request changed anything; the first plan stays, and is given back.
func (s *Store) PlanRequest(ctx context.Context, id string, plan []byte) ([]byte, error) {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		stored, err := s.scanRequest(tx.QueryRowContext(ctx, sqlRequest, id))
		if err != nil {
			return err
		}
		if stored.Plan != nil {
			plan = stored.Plan
			return nil
		}
		sealed, err := s.seal.bytes(plan, requestCell(stored, columnPlan))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, sqlPlanRequest, id, sealed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("plan request %q: %w", id, err)
	}
	return plan, nil
}

// PutIntentFor is PutIntent for a request that may be repeated: its intent is written once, with the plan that goes with it, and
// given back from then on, whatever others have decided since.
func (s *Store) PutIntentFor(ctx context.Context, id string, plan []byte, want Intent) (Intent, error) {
	var before *Intent
	written, err := s.putIntent(ctx, want, intentRules{
		allowed: func(tx *sql.Tx) error {
			stored, err := s.scanRequest(tx.QueryRowContext(ctx, sqlRequest, id))
			if err == nil && stored.Intent != nil {
				before, err = stored.Intent, errDecided
			}
			return err
		},
		written: func(tx *sql.Tx, written Intent) error { return s.intend(ctx, tx, id, plan, written) },
	})
	if before != nil {
		return *before, nil
	}
	return written, err
}

var errDecided = errors.New("its intent was written before")

// intend notes on a request's row which intent was written for it, and with which plan.
func (s *Store) intend(ctx context.Context, tx *sql.Tx, id string, plan []byte, written Intent) error {
	stored, err := s.scanRequest(tx.QueryRowContext(ctx, sqlRequest, id))
	if err != nil {
		return err
	}
	text, err := json.Marshal(written)
	if err != nil {
		return err
	}
	sealed, err := s.seal.bytes(text, requestCell(stored, columnIntent))
	if err != nil {
		return err
	}
	sealedPlan, err := s.seal.bytes(plan, requestCell(stored, columnPlan))
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, sqlIntendRequest, id, sealed, sealedPlan)
	return err
}
