package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// inspectVariable names the address at which a measured process can be looked into.
const inspectVariable = "HOLDFAST_BENCH_INSPECT"

// inspection is added to the programs that are built here, and only here: what it tells has no place in a product.
const inspection = `package main

import (
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime/debug"
)

func init() {
	http.HandleFunc("/free", func(http.ResponseWriter, *http.Request) { debug.FreeOSMemory() })
	if at := os.Getenv("` + inspectVariable + `"); at != "" {
		go func() { _ = http.ListenAndServe(at, nil) }()
	}
}
`

// overlay writes what the compiler is to add to the programs, and gives the file that tells it so.
func (b *bench) overlay() (string, error) {
	added := filepath.Join(b.dir, "inspection.go")
	if err := os.WriteFile(added, []byte(inspection), 0o600); err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(b.root, "gateway", "inspection.go"): added,
		filepath.Join(b.root, "worker", "inspection.go"):  added,
	}})
	if err != nil {
		return "", err
	}
	file := filepath.Join(b.dir, "overlay.json")
	return file, os.WriteFile(file, raw, 0o600)
}

// inspecting keeps no connection: in the process that is looked into, each would count as its own memory.
var inspecting = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}

// memory is what a process holds after a collection of garbage, in bytes.
type memory struct{ resident, heap float64 }

// holds collects a process's garbage and reads what it holds then.
func (c *child) holds(ctx context.Context) (memory, error) {
	if c.inspect == "" {
		return memory{}, fmt.Errorf("look into process %d: it was not started for that", c.pid())
	}
	for range 2 { // what has a finalizer, and what a pool keeps, takes two
		if _, err := get(ctx, inspecting, "http://"+c.inspect+"/free"); err != nil {
			return memory{}, err
		}
	}
	heap, err := get(ctx, inspecting, "http://"+c.inspect+"/debug/pprof/heap?debug=1")
	if err != nil {
		return memory{}, err
	}
	inUse, err := field(heap.body, "# HeapInuse = ", "")
	if err != nil {
		return memory{}, err
	}
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.pid()), "status"))
	if err != nil {
		return memory{}, fmt.Errorf("read memory of process: %w", err)
	}
	resident, err := field(status, "VmRSS:", " kB")
	return memory{resident: resident * 1024, heap: inUse}, err
}

// profile writes a profile of what a process computes; it is for whoever looks for the cause of a figure.
func (c *child) profile(ctx context.Context, file string, seconds int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", c.inspect, seconds), nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Timeout: time.Duration(seconds)*time.Second + time.Minute}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	out, err := os.Create(file) //nolint:gosec // in the folder of the run
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	_, err = out.ReadFrom(response.Body)
	return err
}

// field finds a number behind a word.
func field(text []byte, before, after string) (float64, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if rest, found := strings.CutPrefix(lines.Text(), before); found {
			return strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), after), 64)
		}
	}
	return 0, fmt.Errorf("read %s: it is not there", strings.TrimSpace(before))
}
