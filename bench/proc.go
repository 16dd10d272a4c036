package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the kernel's unit of process times; Linux shows 100 a second on every machine.
const clockTick = 10 * time.Millisecond

// peakMemory is the largest resident set that a process has had, in MiB.
func peakMemory(pid int) (float64, error) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, fmt.Errorf("read memory of process: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("read memory of process: no VmHWM of %d", pid)
}

// ownTime is the key of this process in cpuTimes.
const ownTime = "self"

// cpuTimes are what this process and its children have used so far, by their programs' names.
func cpuTimes() map[string]time.Duration {
	self := os.Getpid()
	times := map[string]time.Duration{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, name, fields, err := statFields(string(raw))
		if err != nil || (pid != strconv.Itoa(self) && fields[1] != strconv.Itoa(self)) {
			continue
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		if pid == strconv.Itoa(self) {
			name = ownTime
		}
		times[name] += time.Duration(user+system) * clockTick
	}
	return times
}

// processTimes is what processes have used so far, together.
func processTimes(pids []int) (time.Duration, error) {
	var used time.Duration
	for _, pid := range pids {
		raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat")) //nolint:gosec // a process's number
		if err != nil {
			return 0, fmt.Errorf("read time of process: %w", err)
		}
		_, _, fields, err := statFields(string(raw))
		if err != nil {
			return 0, err
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		used += time.Duration(user+system) * clockTick
	}
	return used, nil
}

var errStat = errors.New("read time of process: the kernel's line is not as expected")

// statFields splits the kernel's line on a process. The name stands in parentheses and may hold anything; numbers follow it.
func statFields(text string) (pid, name string, fields []string, err error) {
	begin, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if begin < 0 || end < begin {
		return "", "", nil, errStat
	}
	if fields = strings.Fields(text[end+1:]); len(fields) < 13 {
		return "", "", nil, errStat
	}
	return strings.TrimSpace(text[:begin]), text[begin+1 : end], fields, nil
}
