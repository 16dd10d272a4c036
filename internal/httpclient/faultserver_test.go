package httpclient_test

import (
	"bufio"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// faultServer speaks raw TCP, so that a script decides about every byte. The script gets the connection once a complete
// request is in, and the request's number from 1 on; the connection is closed when the script returns false.
type faultServer struct {
	URL *url.URL

	listener    net.Listener
	requests    atomic.Int64
	connections atomic.Int64
}

type script func(conn net.Conn, request int64) (keep bool)

func serve(t *testing.T, handle script) *faultServer {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &faultServer{listener: listener, URL: parse(t, "http://"+listener.Addr().String()+"/path?token=tell-nobody")}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.accept(t, handle)
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return s
}

func (s *faultServer) accept(t *testing.T, handle script) {
	t.Helper()
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.connections.Add(1)
		t.Cleanup(func() { _ = conn.Close() })
		go func() {
			defer func() { _ = conn.Close() }()
			reader := bufio.NewReader(conn)
			for {
				req, err := http.ReadRequest(reader)
				if err != nil {
					return
				}
				_ = req.Body.Close()
				if !handle(conn, s.requests.Add(1)) {
					return
				}
			}
		}()
	}
}

func parse(t *testing.T, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	return u
}

func send(conn net.Conn, text string) bool {
	_, err := conn.Write([]byte(text))
	return err == nil
}

// reset closes with a TCP reset instead of an orderly end.
func reset(conn net.Conn) bool {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return false
}

// hang holds the connection until the client gives up.
func hang(conn net.Conn) bool {
	_, _ = conn.Read(make([]byte, 1))
	return false
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\ntrue"
