package store

import (
	"strconv"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// selection is a query that has only the conditions which a filter asks for, so that each filter is answered from its own index.
type selection struct {
	text strings.Builder
	word string // before the next condition
	args []any
}

func selectFrom(text string) *selection {
	q := &selection{word: " WHERE "}
	q.text.WriteString(text)
	return q
}

// where adds a condition, in which each ? stands for the next argument.
func (q *selection) where(condition string, args ...any) *selection {
	q.text.WriteString(q.word)
	q.word = " AND "
	q.add(condition, args)
	return q
}

// is adds the condition that a column has a value, unless that is empty.
func (q *selection) is(column, value string) *selection {
	if value == "" {
		return q
	}
	return q.where(column+" = ?", value)
}

func (q *selection) of(who *approval.Identity) *selection {
	if who == nil {
		return q
	}
	return q.where("account = ? AND organisation = ?", who.Account, who.Organisation)
}

// newest ends the query: rows after the cursor, the newest first. id is the column that tells rows of one time apart.
func (q *selection) newest(id string, before Cursor, limit int) (text string, args []any) {
	if before != (Cursor{}) {
		q.where("(created_at, "+id+") < (?, ?)", toMicros(before.At), before.ID)
	}
	q.add(" ORDER BY created_at DESC, "+id+" DESC LIMIT ?", []any{limited(limit)})
	return q.text.String(), q.args
}

func (q *selection) add(text string, args []any) {
	for _, each := range args {
		before, after, _ := strings.Cut(text, "?")
		q.args = append(q.args, each)
		q.text.WriteString(before + "$" + strconv.Itoa(len(q.args)))
		text = after
	}
	q.text.WriteString(text)
}
