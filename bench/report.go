package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
)

const (
	outputTable = "table"
	outputJSON  = "json"
)

// Report is the outcome of a run.
type Report struct {
	Version string    `json:"version"`
	At      time.Time `json:"at"`
	CPUs    int       `json:"cpus"`
	// Load is the machine's load average: figures taken on a busy machine say little.
	Load    Load     `json:"load"`
	Figures []Figure `json:"figures"`
}

// Load is the load average before and after a run.
type Load struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Figure is what was measured of one subject.
type Figure struct {
	Name string `json:"name"`
	// Setting says how it was measured.
	Setting string `json:"setting"`
	Lines   []Line `json:"lines"`
}

// Line is one measured value.
type Line struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Limit is the largest value that is good enough; nil where there is none.
	Limit *float64 `json:"limit,omitempty"`
	// Least is the smallest value that is good enough; nil where there is none.
	Least *float64 `json:"least,omitempty"`
	Met   *bool    `json:"met,omitempty"`
}

func newReport() Report {
	return Report{
		Version: buildinfo.Version(), At: time.Now().UTC(), CPUs: runtime.NumCPU(),
		Load: Load{Before: loadAverage()}, Figures: []Figure{},
	}
}

// add notes a value that has no limit.
func (f *Figure) add(what string, value float64, unit string) {
	f.Lines = append(f.Lines, Line{What: what, Value: value, Unit: unit})
}

// limit notes a value and the largest that is good enough.
func (f *Figure) limit(what string, value float64, unit string, most float64) {
	met := value <= most
	f.Lines = append(f.Lines, Line{What: what, Value: value, Unit: unit, Limit: &most, Met: &met})
}

// least notes a value and the smallest that is good enough.
func (f *Figure) least(what string, value float64, unit string, least float64) {
	met := value >= least
	f.Lines = append(f.Lines, Line{What: what, Value: value, Unit: unit, Least: &least, Met: &met})
}

func (r Report) met() bool {
	for _, f := range r.Figures {
		for _, l := range f.Lines {
			if l.Met != nil && !*l.Met {
				return false
			}
		}
	}
	return true
}

func (r Report) write(to io.Writer, form string) error {
	if form == outputJSON {
		encoder := json.NewEncoder(to)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	fmt.Fprintf(to, "Holdfast %s, %s, %d CPUs, load before %s, after %s\n",
		r.Version, r.At.Format(time.RFC3339), r.CPUs, r.Load.Before, r.Load.After)
	for _, f := range r.Figures {
		fmt.Fprintf(to, "\n%s: %s\n", f.Name, f.Setting)
		table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
		for _, l := range f.Lines {
			fmt.Fprintf(table, "  %s\t%s %s\t%s\n", l.What, number(l.Value), l.Unit, verdict(l))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func verdict(l Line) string {
	if l.Met == nil {
		return ""
	}
	word := "ok"
	if !*l.Met {
		word = "MISSED"
	}
	if l.Least != nil {
		return "at least " + number(*l.Least) + ": " + word
	}
	return "at most " + number(*l.Limit) + ": " + word
}

// number shows as many digits as mean something.
func number(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	if v >= 100 || v <= -100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
