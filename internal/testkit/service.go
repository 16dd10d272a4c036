package testkit

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

const (
	readyWithin = 90 * time.Second

	// A request that reaches a booting engine is never answered, so tries must be short; on a busy machine a good answer
	// takes long, so a try that ran out of time is followed by a longer one.
	firstTry = 500 * time.Millisecond
	lastTry  = 4 * time.Second
)

// Service is a child process that serves HTTP on one port and can be killed and started again there. It is used from
// the test's goroutine.
type Service struct {
	tb      testing.TB
	command Command
	port    int
	probe   string // path asked until it is answered

	mu      sync.Mutex
	process *Process
}

func startService(tb testing.TB, command Command, port int, probe string) *Service {
	tb.Helper()
	s := &Service{tb: tb, command: command, port: port, probe: probe}
	s.Restart()
	return s
}

// BaseURL is the service's address without a trailing slash.
func (s *Service) BaseURL() string { return fmt.Sprintf("http://127.0.0.1:%d", s.port) }

// Kill sends SIGKILL to the service and waits for its end.
func (s *Service) Kill() { s.Process().Kill() }

// Restart kills the service where it runs, starts it on the same port and waits until it answers.
func (s *Service) Restart() {
	s.tb.Helper()
	s.mu.Lock()
	if s.process != nil {
		s.process.Kill()
	}
	s.process = Start(s.tb, s.command)
	process := s.process
	s.mu.Unlock()
	try := firstTry
	answered := Poll(s.tb, readyWithin, func() bool {
		asked := time.Now()
		up := s.answers(try)
		if time.Since(asked) >= try {
			try = min(2*try, lastTry)
		}
		return up || !process.Running()
	})
	if !answered || !process.Running() {
		s.tb.Fatalf("%s did not come up on port %d:\n%s", s.command.Path, s.port, process.Output())
	}
}

// Process is the running child, for its id and output.
func (s *Service) Process() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// answers asks once on a new connection.
func (s *Service) answers(within time.Duration) bool {
	ctx, cancel := context.WithTimeout(s.tb.Context(), within)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.BaseURL()+s.probe, nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return true
}
