package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/config/strictyaml"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

// firstLimit is how long a reader waits for a source that was never listed yet.
const firstLimit = 5 * time.Second

// ErrNoSource is returned for a name under which there is no source.
var ErrNoSource = errors.New("no such source")

// Params are what a catalog is made of.
type Params struct {
	// File holds the sources, as an object mcpServers; empty: there are none.
	File string
	// Overrides gives what the operator says of sources, by name, and a number that changes with it; nil: nothing.
	Overrides func() (map[string]policy.Override, uint64)
	// Lookup gives variables for ${NAME} in the file; nil: those of the environment.
	Lookup strictyaml.Lookup
	Log    *slog.Logger
}

// Sources is the catalog of the sources of one file. It is safe for concurrent use.
type Sources struct {
	sources   []*source
	overrides func() (map[string]policy.Override, uint64)
	log       *slog.Logger

	building sync.Mutex
	current  atomic.Pointer[snapshot]

	end     context.CancelFunc
	running sync.WaitGroup
}

var _ Catalog = (*Sources)(nil)

// New reads the file and begins to list its sources in the background. The error names what is wrong with the file and quotes no value
// of it. The caller ends it with Close.
func New(params Params) (*Sources, error) {
	lookup := params.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	definitions, err := readFile(params.File, lookup)
	if err != nil {
		return nil, err
	}
	c := &Sources{overrides: params.Overrides, log: params.Log}
	if c.overrides == nil {
		c.overrides = func() (map[string]policy.Override, uint64) { return nil, 0 }
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.end = cancel
	life := func() context.Context { return ctx }
	for _, each := range definitions {
		c.sources = append(c.sources, newSource(each, life, params.Log, c.rebuild))
	}
	c.rebuild()
	for _, each := range c.sources {
		c.running.Go(func() { each.run(ctx) })
	}
	return c, nil
}

// Close ends all connections and child processes. Calls under way fail.
func (c *Sources) Close() {
	c.end()
	c.running.Wait()
	var closing sync.WaitGroup
	for _, each := range c.sources {
		closing.Go(each.close)
	}
	closing.Wait()
}

// rebuild makes a snapshot of what is known now.
func (c *Sources) rebuild() {
	c.building.Lock()
	defer c.building.Unlock()
	overrides, rules := c.overrides()
	c.current.Store(build(c.sources, overrides, rules, c.current.Load()))
}

func (c *Sources) snapshot() *snapshot {
	now := c.current.Load()
	if _, rules := c.overrides(); rules != now.rules {
		c.rebuild()
		now = c.current.Load()
	}
	return now
}

// Lookup implements [Catalog]. A source that was never tried yet is waited for, some seconds at most.
func (c *Sources) Lookup(ctx context.Context, address string) (Tool, error) {
	if entry := c.snapshot().tools[address]; entry != nil {
		return entry.tool, nil
	}
	name, _, _ := strings.Cut(address, ".")
	source := c.source(name)
	if source == nil {
		return Tool{}, ErrNoTool
	}
	if err := awaitFirst(ctx, source); err != nil {
		return Tool{}, err
	}
	return c.Known(address)
}

// Known reads one tool of those known now, and waits for nothing: [ErrNotListed] while its source was never listed, [ErrNoTool] where
// there is none.
func (c *Sources) Known(address string) (Tool, error) {
	name, _, _ := strings.Cut(address, ".")
	source := c.source(name)
	if source == nil {
		return Tool{}, ErrNoTool
	}
	missing := ErrNoTool
	if !source.listed.Load() {
		missing = ErrNotListed
	}
	if entry := c.snapshot().tools[address]; entry != nil {
		return entry.tool, nil
	}
	return Tool{}, missing
}

// Search implements [Catalog]. The limit is 12 where none is given, and 1,000 at most.
func (c *Sources) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	if err := awaitFirst(ctx, c.sources...); err != nil {
		return nil, err
	}
	return c.snapshot().search(query, limit), nil
}

// Suggest implements [Catalog].
func (c *Sources) Suggest(address string) []string { return c.snapshot().suggest(address) }

// Sources implements [Catalog].
func (c *Sources) Sources() []string { return slices.Clone(c.snapshot().names) }

// Status tells how each source is, sorted by name.
func (c *Sources) Status() []Status {
	all := make([]Status, 0, len(c.sources))
	for _, source := range c.sources {
		_, status := source.known()
		all = append(all, status)
	}
	return all
}

// Refresh lists the tools of a source again, or of all where the name is empty, and waits for it. [ErrNoSource] where there is none
// of this name; any other error means that a source is down.
func (c *Sources) Refresh(ctx context.Context, name string) error {
	if name != "" {
		source := c.source(name)
		if source == nil {
			return ErrNoSource
		}
		return source.refresh(ctx)
	}
	faults := make([]error, len(c.sources))
	var refreshing sync.WaitGroup
	for i, source := range c.sources {
		refreshing.Go(func() {
			if err := source.refresh(ctx); err != nil {
				faults[i] = fmt.Errorf("refresh %s: %w", source.definition.name, err)
			}
		})
	}
	refreshing.Wait()
	return errors.Join(faults...)
}

// Validate implements [Catalog].
func (c *Sources) Validate(tool Tool, arguments json.RawMessage) error {
	if entry := c.current.Load().tools[tool.Address]; entry != nil && bytes.Equal(entry.tool.Input, tool.Input) {
		return entry.compiled(c.log).validate(arguments)
	}
	compiled, err := compile(tool.Input) // a tool that was looked up before it changed
	if err != nil {
		compiled = nil
	}
	return compiled.validate(arguments)
}

// Call implements [Catalog].
func (c *Sources) Call(ctx context.Context, request CallRequest) (CallResult, error) {
	tool, err := c.Lookup(ctx, request.Address)
	if err != nil {
		return CallResult{}, missing(ctx, request.Address, err)
	}
	return c.source(tool.Source).call(ctx, tool, request)
}

// missing is a call of a tool that could not be looked up.
func missing(ctx context.Context, address string, err error) *CallError {
	switch {
	case errors.Is(err, ErrNoTool):
		return &CallError{Address: address, Code: CodeRefused, Answered: true, Cause: err}
	case ctx.Err() != nil:
		return &CallError{Address: address, Code: CodeTimeout, Cause: err}
	default:
		return &CallError{Address: address, Code: CodeUnreachable, Cause: err}
	}
}

func (c *Sources) source(name string) *source {
	at, found := slices.BinarySearchFunc(c.sources, name, func(s *source, name string) int {
		return strings.Compare(s.definition.name, name)
	})
	if !found {
		return nil
	}
	return c.sources[at]
}

// awaitFirst waits until sources were listed for the first time, well or not, some seconds at most.
func awaitFirst(ctx context.Context, sources ...*source) error {
	var late <-chan time.Time
	for _, source := range sources {
		select {
		case <-source.first:
			continue
		default:
		}
		if late == nil {
			limit := time.NewTimer(firstLimit)
			defer limit.Stop()
			late = limit.C
		}
		select {
		case <-source.first:
		case <-late:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
