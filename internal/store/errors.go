package store

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotFound says that there is no such row.
var ErrNotFound = errors.New("not in the store")

// ErrUnknownEngine says that a desired config or a workspace names an engine that was not put before.
var ErrUnknownEngine = errors.New("engine is not in the store: put it first")

// ErrEngineInUse says that an engine cannot be deleted, because connections or workspaces name it.
var ErrEngineInUse = errors.New("connections or workspaces use the engine: remove them first")

// ErrSettled says that an execution has its outcome: nothing is done for it any more.
var ErrSettled = errors.New("the execution is settled: read its outcome")

// ErrClaimed says that a call which was to count as not made was claimed, and so may have been made.
var ErrClaimed = errors.New("the call is claimed: it may have been made")

// ErrLeaseLost says that a lease was released, or that somebody else has taken it after it ran out: what its holder wanted to
// write is not written.
var ErrLeaseLost = errors.New("lease is lost: read the row anew")

// ErrExists says that an id was used before, which is never used again.
var ErrExists = errors.New("the id was used before: make another one")

// ErrStreamDone says that a stream has its last response, or was acknowledged: nothing comes after it.
var ErrStreamDone = errors.New("stream is done: nothing comes after its last response")

// ErrAnswered says that a request has its response, or was never of the stream: the first response stays.
var ErrAnswered = errors.New("request is not one that waits for a response: drop this one")

// ErrRevoked says that an API token was revoked, which cannot be undone.
var ErrRevoked = errors.New("API token is revoked: make another one")

// CorruptRowError says that a row is there but cannot be read: its sealed text was damaged, moved from another row or sealed with
// another keyset, or its content makes no sense. The row is left as it is; writing it anew repairs it.
type CorruptRowError struct {
	Table  string
	Key    string // the row's key in words
	Column string
	Cause  error // never quotes the content
}

func (e *CorruptRowError) Error() string {
	return fmt.Sprintf("read row of %s (%s): column %s: %v: put it anew, or restore database and keysets from one backup",
		e.Table, e.Key, e.Column, e.Cause)
}

// Unwrap gives what is wrong with the column.
func (e *CorruptRowError) Unwrap() error { return e.Cause }

// WrongKeysetError says that the database was written with other keysets than those given.
type WrongKeysetError struct {
	Path    string // of the database
	KeyDir  string
	Purpose string // "aead" or "mac"
}

func (e *WrongKeysetError) Error() string {
	return fmt.Sprintf("open store %s: it was written with another %s keyset than %s/%s.json: name the folder of its own keysets, or restore them from a backup",
		e.Path, e.Purpose, e.KeyDir, e.Purpose)
}

// NewerSchemaError says that a newer release has migrated the database.
type NewerSchemaError struct {
	Path  string
	Found int64
	Known int64
}

func (e *NewerSchemaError) Error() string {
	return fmt.Sprintf("open store %s: its schema has version %d and this program knows up to %d: use the newer release that wrote it",
		e.Path, e.Found, e.Known)
}

// PushInFlightError says that a push of the same connection may still have an effect on the engine.
type PushInFlightError struct {
	Key   Key
	Until time.Time
}

func (e *PushInFlightError) Error() string {
	return fmt.Sprintf("begin push (%s): another one is under way until %s at most", e.Key, e.Until.Format(time.RFC3339Nano))
}

// StaleIntentError says that an intent is not the one that its change was based on.
type StaleIntentError struct {
	Intent   Intent // as it was to be written
	Expected int64
	Found    int64 // 0: there is none
}

func (e *StaleIntentError) Error() string {
	return fmt.Sprintf("put intent (%s): it has revision %d and not %d: read it anew and decide again", e.Intent, e.Found, e.Expected)
}

// LeaseHeldError says that somebody else is minting the token of a credential.
type LeaseHeldError struct {
	Credential string
	Until      time.Time
}

func (e *LeaseHeldError) Error() string {
	return fmt.Sprintf("acquire lease of credential %q: another holder has it until %s at most", e.Credential, e.Until.Format(time.RFC3339Nano))
}
