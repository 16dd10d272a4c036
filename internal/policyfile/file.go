package policyfile

import (
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/config/strictyaml"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

// lookEvery is how often the file is looked at, at most.
const lookEvery = time.Second

// Policy is what a file says, at one time. It never changes.
type Policy struct {
	Rules    []policy.Rule
	Defaults policy.Defaults
	// Overrides are by the name of a source.
	Overrides map[string]policy.Override
	// Version names rules and defaults: see [policy.Version].
	Version string

	generation uint64
}

// Decide finds what applies to a call.
func (p *Policy) Decide(call policy.Call) policy.Verdict {
	return policy.Decide(p.Rules, p.Defaults, call)
}

// Params are what a [File] is made of.
type Params struct {
	// Path names the file; empty: there are no rules, and annotations decide.
	Path     string
	Defaults policy.Defaults
	Log      *slog.Logger
	// Now is the clock; nil: the system's.
	Now func() time.Time
}

// File is a file of rules. It is safe for concurrent use.
type File struct {
	params  Params
	current atomic.Pointer[Policy]
	looked  atomic.Int64 // nanoseconds

	reading sync.Mutex
	seen    stamp
	broken  bool // that the file cannot be read was told
}

// stamp tells whether a file has changed.
type stamp struct {
	modified time.Time
	size     int64
}

// Open reads the file for the first time. The error joins all that is wrong with it, each with the file and the place.
func Open(params Params) (*File, error) {
	if params.Now == nil {
		params.Now = time.Now
	}
	f := &File{params: params}
	if params.Path == "" {
		f.set(nil, map[string]policy.Override{})
		return f, nil
	}
	f.looked.Store(params.Now().UnixNano())
	info, err := os.Stat(params.Path)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	if err := f.read(info); err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	return f, nil
}

// Current is what the file says, as of a second ago at most; where the file is wrong, what it said before.
func (f *File) Current() *Policy {
	if f.params.Path != "" {
		now, looked := f.params.Now().UnixNano(), f.looked.Load()
		if now-looked >= int64(lookEvery) && f.looked.CompareAndSwap(looked, now) {
			f.look()
		}
	}
	return f.current.Load()
}

// Overrides is what the file says of sources, and a number that changes with it.
func (f *File) Overrides() (map[string]policy.Override, uint64) {
	current := f.Current()
	return current.Overrides, current.generation
}

func (f *File) look() {
	f.reading.Lock()
	defer f.reading.Unlock()
	info, err := os.Stat(f.params.Path)
	if err == nil {
		if stampOf(info) == f.seen {
			return
		}
		f.broken = false // another file: what is wrong with it is news
		err = f.read(info)
	}
	if err != nil {
		if !f.broken {
			f.params.Log.Error("policy cannot be read, the rules from before go on to apply", "file", f.params.Path, "error", err.Error())
		}
		f.broken = true
		return
	}
	f.broken = false
	current := f.current.Load()
	f.params.Log.Info("policy was read again", "file", f.params.Path, "rules", len(current.Rules), "version", current.Version)
}

func (f *File) read(info fs.FileInfo) error {
	f.seen = stampOf(info) // before it is read: what is written meanwhile is seen the next time
	data, err := strictyaml.ReadFile(f.params.Path, maxFile)
	if err != nil {
		return err
	}
	rules, overrides, err := parse(f.params.Path, data)
	if err != nil {
		return err
	}
	f.set(rules, overrides)
	return nil
}

func (f *File) set(rules []policy.Rule, overrides map[string]policy.Override) {
	next := &Policy{
		Rules: rules, Defaults: f.params.Defaults, Overrides: overrides,
		Version: policy.Version(rules, f.params.Defaults), generation: 1,
	}
	if before := f.current.Load(); before != nil {
		next.generation = before.generation + 1
	}
	f.current.Store(next)
}

func stampOf(info fs.FileInfo) stamp { return stamp{modified: info.ModTime(), size: info.Size()} }
