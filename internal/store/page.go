package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultLimit is how many rows a list gives where its filter does not say.
	DefaultLimit = 100
	// MaxLimit is how many it gives at most.
	MaxLimit = 1000
)

// ErrNotACursor says that a text is not one that [Cursor.String] gave.
var ErrNotACursor = errors.New("not a cursor: give the one of the list before")

// Cursor names a row of a list that has the newest first. The zero value stands before all.
type Cursor struct {
	At time.Time // when the row was made
	ID string
}

// String is what [ParseCursor] reads; of the zero value it is empty.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	return strconv.FormatInt(toMicros(c.At), 10) + "." + c.ID
}

// ParseCursor reads a cursor back, or gives [ErrNotACursor].
func ParseCursor(text string) (Cursor, error) {
	if text == "" {
		return Cursor{}, nil
	}
	before, id, found := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(before, 10, 64)
	if !found || err != nil {
		return Cursor{}, ErrNotACursor
	}
	return Cursor{At: fromMicros(micros), ID: id}, nil
}

// Cursor is what a list goes on after.
func (s Session) Cursor() Cursor { return Cursor{At: s.CreatedAt, ID: s.ID} }

// Cursor is what a list goes on after.
func (e Execution) Cursor() Cursor { return Cursor{At: e.CreatedAt, ID: e.Key} }

// Cursor is what a list goes on after.
func (p PauseRow) Cursor() Cursor { return Cursor{At: p.CreatedAt, ID: p.ID} }

// limited is how many rows are given where somebody asks for so many.
func limited(asked int) int {
	if asked <= 0 {
		return DefaultLimit
	}
	return min(asked, MaxLimit)
}

// described names a row by its key.
func described(name, value string) string { return fmt.Sprintf("%s %q", name, value) }
