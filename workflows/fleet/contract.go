package fleet

import (
	"net/url"
	"time"

	"github.com/holdfast-mcp/holdfast/activities/fleet"
)

// WorkflowName is the workflow's type. Like all names here it is part of recorded histories.
const WorkflowName = "fleet"

const (
	// SignalReconcileNow asks for a pass at once.
	SignalReconcileNow = "reconcile-now"
	// QuerySnapshot shows what was done so far.
	QuerySnapshot = "snapshot"
)

// defaultQueue is the task queue of an installation that has its namespace for itself.
const defaultQueue = "holdfast"

// ID is the workflow's id. Installations that share a namespace are told apart by their task queues.
func ID(taskQueue string) string {
	if taskQueue == defaultQueue {
		return WorkflowName
	}
	return WorkflowName + ":" + url.QueryEscape(taskQueue)
}

// State is all that the workflow knows. It is its input: a run starts from it and hands it to the next run.
type State struct {
	// Passes counts those that changed something or were asked for, over all runs.
	Passes int `json:"passes,omitempty"`
	// Started, Closed and Engines count over all runs.
	Started int `json:"started,omitempty"`
	Closed  int `json:"closed,omitempty"`
	Engines int `json:"engines,omitempty"`
	// Last is the latest of them.
	Last *Pass `json:"last,omitempty"`
	// Asked is set while a pass that somebody asked for is due.
	Asked bool `json:"asked,omitempty"`
}

// Pass is one that changed something or was asked for.
type Pass struct {
	At     time.Time             `json:"at"`
	Result fleet.ReconcileResult `json:"result"`
}

// Snapshot is the answer of the query.
type Snapshot struct {
	Passes  int   `json:"passes"`
	Started int   `json:"started"`
	Closed  int   `json:"closed"`
	Engines int   `json:"engines"`
	Last    *Pass `json:"last"`
}
