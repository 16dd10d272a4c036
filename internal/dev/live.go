package dev

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const (
	watchEvery = 500 * time.Millisecond
	// watchTimeout bounds one look: a server that has gone must not keep the end from being seen.
	watchTimeout = 2 * time.Second
	// watchMost bounds the connections that are shown live; for more there is `holdfast connection watch`.
	watchMost = 50
)

// live shows each change of state until ctx is over or a part ends.
func (r *runner) live(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	parent := os.Getppid()
	feed := feed{client: r.connections(), shown: map[string]int64{}, since: r.began}
	calls := callFeed{store: r.store, page: r.gateway.URL() + "/resume/", shown: map[string]string{}, since: r.began}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.server.Exited():
			return fmt.Errorf("temporal ended: %w", r.server.Err())
		case end := <-r.graph.Wait():
			if end.ExitCode == 0 {
				return nil
			}
			return errWorkerEnded
		case <-ticker.C:
		}
		if orphaned(parent) {
			return nil
		}
		if r.JSON {
			continue
		}
		for _, line := range append(feed.next(ctx), calls.next(ctx)...) {
			fmt.Fprintln(r.Out, line)
		}
	}
}

var errWorkerEnded = errors.New("the worker ended; the reason is in dev.log in the data directory")

// orphaned reports whether `go run`, which passes no signals on, started this process and is gone.
func orphaned(parent int) bool {
	self, err := os.Executable()
	return err == nil && strings.Contains(self, "go-build") && os.Getppid() != parent
}

// feed turns transitions into lines, each once.
type feed struct {
	client *connection.Client
	shown  map[string]int64
	since  time.Time
}

func (f *feed) next(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	rows, err := f.client.List(ctx, connection.Filter{})
	if err != nil {
		return nil
	}
	var lines []string
	for _, row := range rows[:min(len(rows), watchMost)] {
		transitions, err := f.client.Transitions(ctx, row.WorkflowID)
		if err != nil {
			continue
		}
		for _, t := range transitions {
			if t.Sequence <= f.shown[row.WorkflowID] {
				continue
			}
			f.shown[row.WorkflowID] = t.Sequence
			if t.At.Before(f.since) {
				continue
			}
			lines = append(lines, fmt.Sprintf("%s  %s/%s  %s → %s  %s",
				t.At.Local().Format(time.TimeOnly), row.Workspace, row.Name, t.From, t.To, t.Reason))
		}
	}
	return lines
}
