package workerhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Listener is one HTTP server with its socket. It is started once and stopped once.
type Listener struct {
	purpose string
	address string
	server  *http.Server
	log     *slog.Logger
	onFatal func(error)

	socket net.Listener
	done   chan struct{}
}

// NewListener makes a server; the purpose names it in errors and in the log. onFatal is called when it ends unasked.
func NewListener(purpose, address string, h http.Handler, log *slog.Logger, onFatal func(error)) *Listener {
	return &Listener{
		purpose: purpose, address: address, log: log, onFatal: onFatal, done: make(chan struct{}),
		server: &http.Server{
			Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
			WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		},
	}
}

// Start binds the address, so that a taken port is an error of the start, and serves.
func (l *Listener) Start(ctx context.Context) error {
	var config net.ListenConfig
	socket, err := config.Listen(ctx, "tcp", l.address)
	if err != nil {
		close(l.done)
		return fmt.Errorf("listen on %s for the %s: %w; free the port or choose another", l.address, l.purpose, err)
	}
	l.socket = socket
	l.log.InfoContext(ctx, "serving", "component", l.purpose, "address", l.Address())
	go func() {
		defer close(l.done)
		if err := l.server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			l.log.ErrorContext(context.WithoutCancel(ctx), "server ended", "component", l.purpose, "error", err)
			l.onFatal(err)
		}
	}()
	return nil
}

// Address is where it listens; with port 0 the one that was chosen. It is empty before the start.
func (l *Listener) Address() string {
	if l.socket == nil {
		return ""
	}
	return l.socket.Addr().String()
}

// Stop drains the requests under way, until ctx is over.
func (l *Listener) Stop(ctx context.Context) error {
	if l.socket == nil {
		return nil
	}
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, l.server.Close())
	}
	<-l.done
	return err
}
