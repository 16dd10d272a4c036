package dev

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// callFeed turns what becomes of calls that ask a person into lines, each once.
type callFeed struct {
	store *store.Store
	page  string // address of a pause's page, without its id
	shown map[string]string
	since time.Time
}

func (f *callFeed) next(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	rows, err := f.store.Pauses(ctx, store.PauseFilter{Limit: watchMost})
	if err != nil {
		return nil
	}
	slices.Reverse(rows)
	var lines []string
	for _, row := range rows {
		state := f.describe(row)
		if f.shown[row.ID] == state {
			continue
		}
		f.shown[row.ID] = state
		if at := changedAt(row); !at.Before(f.since) {
			lines = append(lines, fmt.Sprintf("%s  %s  %s", at.Local().Format(time.TimeOnly), row.Address, state))
		}
	}
	return lines
}

func (f *callFeed) describe(row store.PauseRow) string {
	var state string
	switch {
	case row.Decision != nil:
		state = past(row.Decision.Action) + " by " + row.Decision.Name
	case row.Expired:
		state = "expired: nobody decided in time"
	case row.Dropped:
		state = "dropped: its run ended"
	default:
		return "waits for a person: " + f.page + row.ID
	}
	if row.Outcome != "" && !row.Expired {
		state += " → " + string(row.Outcome)
	}
	return state
}

func past(action approval.Action) string {
	switch action {
	case approval.ActionAccept:
		return "approved"
	case approval.ActionDecline:
		return "declined"
	case approval.ActionCancel:
		return "cancelled"
	default:
		return string(action)
	}
}

func changedAt(row store.PauseRow) time.Time {
	switch {
	case row.Decision != nil:
		return row.Decision.At
	case row.Expired:
		return row.Deadline
	default:
		return row.CreatedAt
	}
}
