package testkit

import (
	"net"
	"testing"
)

// FreePort returns a loopback TCP port that was free a moment ago; another process may take it before its user does.
func FreePort(tb testing.TB) int {
	tb.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("find free port: %v", err)
	}
	defer func() { _ = listener.Close() }()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		tb.Fatalf("find free port: unexpected address %s", listener.Addr())
	}
	return address.Port
}
