package main

import (
	"math"
	"slices"
	"time"
)

// sample is a set of measured times.
type sample []time.Duration

// at is the value below or at which the given part of the sample lies, in milliseconds.
func (s sample) at(part float64) float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	rank := int(math.Ceil(part*float64(len(sorted)))) - 1
	return millis(sorted[max(0, rank)])
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }

// spread notes median, 95th percentile and maximum.
func (f *Figure) spread(what string, s sample) {
	f.add(what+", p50", s.at(0.5), "ms")
	f.add(what+", p95", s.at(0.95), "ms")
	f.add(what+", max", s.at(1), "ms")
}

// median is the value in the middle, and the lower one of two.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return slices.Sorted(slices.Values(values))[(len(values)-1)/2]
}

// ratios divides value by value: each pair was taken in one round.
func ratios(of, by []float64) []float64 {
	out := make([]float64, len(of))
	for i := range of {
		out[i] = of[i] / by[i]
	}
	return out
}
