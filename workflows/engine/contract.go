package engine

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// WorkflowName is the workflow's type. Like all names here it is part of recorded histories.
const WorkflowName = "engine"

const (
	// SignalConnectionsChanged says that the engine has other connections than before.
	SignalConnectionsChanged = "connections-changed"
	// QuerySnapshot shows the watch.
	QuerySnapshot = "snapshot"
)

const idPrefix = WorkflowName + ":"

// ID is the workflow id of an engine's watch.
func ID(engineID string) string { return idPrefix + url.QueryEscape(engineID) }

// ErrNotAnEngineID is returned by [ParseID] for an id of another kind.
var ErrNotAnEngineID = errors.New("not an engine's workflow id")

// ParseID reads the engine's id back from a workflow id.
func ParseID(id string) (string, error) {
	escaped, ok := strings.CutPrefix(id, idPrefix)
	if !ok {
		return "", fmt.Errorf("parse %q: %w", id, ErrNotAnEngineID)
	}
	engineID, err := url.QueryUnescape(escaped)
	if err != nil {
		return "", fmt.Errorf("parse %q: %w", id, ErrNotAnEngineID)
	}
	return engineID, nil
}

// State is all that a watch knows. It is the workflow's input: a run starts from it and hands it to the next run.
type State struct {
	EngineID string `json:"engineId"`
	// WatchingSince is when the watch that runs now began.
	WatchingSince time.Time `json:"watchingSince,omitzero"`
	// Watches counts how often a watch was begun, over all runs.
	Watches int `json:"watches,omitempty"`
}

// Snapshot is the answer of the query.
type Snapshot struct {
	EngineID      string    `json:"engineId"`
	WatchingSince time.Time `json:"watchingSince,omitzero"`
	Watches       int       `json:"watches"`
}
