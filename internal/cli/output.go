package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// printJSON writes an indented document.
func (a *App) printJSON(document any) error {
	encoder := json.NewEncoder(a.options.Stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// printLine writes a document on one line.
func (a *App) printLine(document any) error {
	encoder := json.NewEncoder(a.options.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}

// newTable is plain: columns set apart by blanks, so that it can be cut and grepped.
func (a *App) newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetOutputMirror(a.options.Stdout)
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft = ""
	style.Box.PaddingRight = "   "
	t.SetStyle(style)
	t.SuppressTrailingSpaces()
	if len(header) > 0 {
		t.AppendHeader(header)
	}
	return grid{t}
}

// facts is a table of names and values.
type facts struct{ table.Writer }

func (a *App) newFacts() facts { return facts{a.newTable()} }

// row leaves out what has no value.
func (f facts) row(name, value string) {
	if value != "" {
		f.AppendRow([]any{name, value})
	}
}

const noValue = "-"

// clock is a time for people, in their own zone.
func clock(at *time.Time) string {
	if at == nil || at.IsZero() {
		return noValue
	}
	return at.Local().Format("2006-01-02 15:04:05")
}

// age is a duration for people, in its one or two largest units.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "0s"
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	}
}

func ageOf(seconds *int64) string {
	if seconds == nil {
		return noValue
	}
	return age(time.Duration(*seconds) * time.Second)
}

func orNone(s string) string {
	if s == "" {
		return noValue
	}
	return s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
