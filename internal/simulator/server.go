package simulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// rebindWithin bounds how long a restart waits for its old port.
const rebindWithin = 5 * time.Second

// server runs one handler on one loopback port, which it keeps over stop and start.
type server struct {
	handler http.Handler

	mu     sync.Mutex
	addr   string
	http   *http.Server
	cancel context.CancelFunc
	served chan struct{}
	active *inflight
}

// inflight counts running handlers. A WaitGroup would not do: a request may still arrive while stop begins to wait.
type inflight struct {
	mu      sync.Mutex
	closed  bool
	running int
	idle    chan struct{} // closed when closed and nothing runs
}

func (i *inflight) enter() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return false
	}
	i.running++
	return true
}

func (i *inflight) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running--
	if i.closed && i.running == 0 {
		close(i.idle)
	}
}

func (i *inflight) drain() {
	i.mu.Lock()
	i.closed = true
	if i.running == 0 {
		close(i.idle)
	}
	i.mu.Unlock()
	<-i.idle
}

// start listens and serves; every request's context descends from life. Starting twice is an error.
func (s *server) start(life context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return errors.New("start server: it is running already")
	}
	listener, err := listen(life, s.addr)
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	s.addr = listener.Addr().String()
	ctx, cancel := context.WithCancel(life)
	active := &inflight{idle: make(chan struct{})}
	httpServer := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !active.enter() {
				panic(http.ErrAbortHandler)
			}
			defer active.leave()
			s.handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = httpServer.Serve(listener) // always ErrServerClosed: stop is the only way out
	}()
	s.http, s.cancel, s.served, s.active = httpServer, cancel, served, active
	return nil
}

// stop closes the port and every connection at once, as a killed process does, then ends the handlers and waits for
// them; alsoEnd ends what they wait for beside their request. In this order no handler gets to say a last word.
func (s *server) stop(alsoEnd func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http == nil {
		return
	}
	_ = s.http.Close() // the connections are gone either way
	s.cancel()
	alsoEnd()
	<-s.served
	s.active.drain()
	s.http = nil
}

func (s *server) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// listen retries an occupied port: a passing outgoing connection of another process may hold it for a moment.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, rebindWithin)
	defer cancel()
	var config net.ListenConfig
	for {
		listener, err := config.Listen(ctx, "tcp", addr)
		if err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return nil, err
		}
	}
}

// pause waits for d or for the end of ctx, whichever comes first.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
