package store_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

var ann = approval.Identity{Account: "ann", Organisation: "acme"}

// keyOf is the key of the n-th execution.
func keyOf(n int) string { return fmt.Sprintf("%032x", n) }

func session(id string) store.Session {
	return store.Session{
		ID: id, Identity: ann, Mode: approval.ModeBrowser, Resource: "default", Role: "viewer", Origin: "https://gateway.example",
		Client: "probe 1.0", Protocol: "2025-11-25", CreatedAt: monday, LastSeenAt: monday, State: []byte(`{"state":"state-s3cr3t"}`),
	}
}

func stream(session, id string, requests ...string) store.Stream {
	return store.Stream{
		Session: session, ID: id, Requests: requests, OpenedAt: monday, Messages: []byte(`["message-s3cr3t"]`), Owner: "r1",
		Until: monday.Add(time.Minute),
	}
}

func execution(n int) store.Execution {
	return store.Execution{
		Key: keyOf(n), Identity: ann, Session: "s", Mode: approval.ModeModel, Resource: "default", Client: "probe 1.0", Request: fmt.Sprint("r", n),
		Address: "github.merge", Arguments: []byte(`{"token":"argument-s3cr3t"}`), Digest: "d", Policy: "p",
		CreatedAt: monday.Add(time.Duration(n) * time.Second), Status: store.StatusRunning,
	}
}

// pause is the number-th one of the n-th execution.
func pause(n, number int) store.PauseRow {
	return store.PauseRow{
		Pause: approval.Pause{
			ID: approval.PauseID(keyOf(n), number), Number: number, CreatedAt: monday.Add(time.Duration(number) * time.Second),
			Deadline: monday.Add(time.Hour),
			Request: approval.Request{
				Kind: approval.KindForm, Message: "message-s3cr3t", Schema: json.RawMessage(`{"type":"object"}`), Reason: "rule 1",
			},
		},
		Key: keyOf(n), Identity: ann, Session: "s", Address: "github.merge", Client: "probe 1.0", Policy: "p", Digest: "d",
	}
}

func accepted(p approval.Pause) approval.Pause {
	p.Decision = &approval.Decision{
		Action: approval.ActionAccept, Content: json.RawMessage(`{"pin":"content-s3cr3t"}`), By: "token:1", Name: "Ann", Via: approval.ViaPage,
		Reason: "fine", At: monday.Add(time.Minute),
	}
	return p
}

func completed() approval.Outcome {
	return approval.Outcome{Kind: approval.OutcomeCompleted, Message: "outcome-s3cr3t", At: monday.Add(2 * time.Minute), Calls: 1, Digest: "x", Bytes: 2}
}

func step(n int, seq int64, kind string) store.ExecutionEvent {
	return store.ExecutionEvent{Key: keyOf(n), Seq: seq, Kind: kind, Pause: 1, At: monday}
}

func direct(name string) store.Direct {
	return store.Direct{Name: name, Identity: ann, Address: "github.merge", Digest: "d", At: monday}
}

func auditLine() store.Audit {
	return store.Audit{
		At: monday, Identity: ann, Principal: "token:1", Name: "Ann", Via: "mcp", Action: "call", Session: "s", Execution: keyOf(1),
		Pause: approval.PauseID(keyOf(1), 1), Address: "github.merge", Digest: "d", Policy: "p", Outcome: "completed",
		Latency: 1500 * time.Microsecond, Reason: "fine",
	}
}
