package store

import (
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// String leaves the state out.
func (s Session) String() string { return fmt.Sprintf("session %q", s.ID) }

// GoString leaves the state out of %#v.
func (s Session) GoString() string { return s.String() }

// String leaves the message out.
func (e Event) String() string {
	return fmt.Sprintf("event %d of stream %q of session %q", e.Seq, e.Stream, e.Session)
}

// GoString leaves the message out of %#v.
func (e Event) GoString() string { return e.String() }

// String leaves the messages out.
func (s Stream) String() string { return fmt.Sprintf("stream %q of session %q", s.ID, s.Session) }

// GoString leaves the messages out of %#v.
func (s Stream) GoString() string { return s.String() }

// String leaves the message out.
func (i InboxItem) String() string {
	return fmt.Sprintf("%s %d for session %q", i.Kind, i.Seq, i.Session)
}

// GoString leaves the message out of %#v.
func (i InboxItem) GoString() string { return i.String() }

// String leaves the arguments out.
func (e Execution) String() string { return fmt.Sprintf("execution %s of %s", e.Key, e.Address) }

// GoString leaves the arguments out of %#v.
func (e Execution) GoString() string { return e.String() }

// String leaves out what is asked and what was answered.
func (p PauseRow) String() string { return fmt.Sprintf("pause %s of %s", p.ID, p.Address) }

// GoString leaves out of %#v what is asked and what was answered.
func (p PauseRow) GoString() string { return p.String() }

// String leaves the result out.
func (c Call) String() string { return fmt.Sprintf("call %d of execution %s", c.Number, c.Key) }

// GoString leaves the result out of %#v.
func (c Call) GoString() string { return c.String() }

// String leaves the result out.
func (d Direct) String() string { return fmt.Sprintf("direct call %q of %s", d.Name, d.Address) }

// GoString leaves the result out of %#v.
func (d Direct) GoString() string { return d.String() }

// whole reports whether an identity names somebody.
func whole(who approval.Identity) bool { return who.Account != "" && who.Organisation != "" }
