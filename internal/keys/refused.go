package keys

import (
	"fmt"
	"io/fs"
)

// Reason says why a keyset is refused.
type Reason string

// The reasons of a RefusedError.
const (
	ReasonMode       Reason = "mode"       // group or others have access
	ReasonUnreadable Reason = "unreadable" // the operating system does not let us read it, or it is no regular file
	ReasonEmpty      Reason = "empty"      // no bytes
	ReasonTooLarge   Reason = "too_large"  // larger than any keyset
	ReasonMalformed  Reason = "malformed"  // not a keyset in JSON
	ReasonWrongType  Reason = "wrong_type" // a keyset of another kind
	ReasonMissing    Reason = "missing"    // the other keyset of the folder is there
)

// RefusedError says that a keyset file, or the folder of the keysets, is not used. Nothing was changed on disk.
type RefusedError struct {
	File   string
	Reason Reason
	Mode   fs.FileMode // for ReasonMode
	Cause  error       // of the operating system; never made from the content, which is secret
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("use keyset %s: %s", e.File, e.explain())
}

// Unwrap gives the operating system's error, if there is one.
func (e *RefusedError) Unwrap() error { return e.Cause }

func (e *RefusedError) explain() string {
	const restore = "restore it from a backup; only when nothing was stored with it yet, move the whole folder away to have new keysets made"
	switch e.Reason {
	case ReasonMode:
		return fmt.Sprintf("group or others have access (mode %04o): make sure that nobody changed or copied it, then run chmod go= %s", e.Mode, e.File)
	case ReasonUnreadable:
		if e.Cause == nil {
			return "not a regular file: put the keyset there, or name another folder"
		}
		return fmt.Sprintf("cannot be read: %v: give the user that runs holdfast access, or name another folder", e.Cause)
	case ReasonEmpty:
		return "the file is empty: " + restore
	case ReasonTooLarge:
		return "the file is too large for a keyset: " + restore
	case ReasonMalformed:
		return "the content is damaged or is no keyset in JSON: " + restore
	case ReasonWrongType:
		return "the keyset has keys of another kind: put the right file there (" + aeadFile + " seals, " + macFile + " makes revisions)"
	case ReasonMissing:
		return "the file is missing while the other keyset of the folder is there: " + restore
	default:
		return string(e.Reason)
	}
}
