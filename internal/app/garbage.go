package app

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// heapStep is how much may be allocated at least between two collections. A gateway lives on little and allocates much for each
	// call: with the runtime's own rule, which follows what lives, it would collect several times in a hundred calls.
	heapStep = 48 << 20
	// usualPercent is the runtime's own rule, by which larger heaps are collected.
	usualPercent = 100
	liveHeap     = "/gc/heap/live:bytes"
)

var spacing sync.Once

// spaceCollections keeps collections of garbage apart. Whoever sets GOGC has decided otherwise.
func spaceCollections() {
	if os.Getenv("GOGC") != "" {
		return
	}
	spacing.Do(func() { spaceAgain(usualPercent) })
}

// spaceAgain sets when the next collection begins, after each one.
func spaceAgain(now int) {
	sample := []metrics.Sample{{Name: liveHeap}}
	metrics.Read(sample)
	wanted := usualPercent
	if live := sample[0].Value.Uint64(); live > 0 {
		wanted = max(usualPercent, int(heapStep*100/max(live, 1<<20)))
	}
	if wanted < now*9/10 || wanted > now*11/10 { // setting it stops the world for a moment
		debug.SetGCPercent(wanted)
		now = wanted
	}
	// What nobody holds is cleaned up by the next collection.
	runtime.AddCleanup(new([16]byte), spaceAgain, now)
}
