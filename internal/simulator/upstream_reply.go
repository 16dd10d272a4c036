package simulator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// errContentType is an answer that is no event stream where one must be.
var errContentType = errors.New(`invalid content type, expected "text/event-stream"`)

// statusError is an HTTP answer that is no success.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string { return fmt.Sprintf("http status %d", e.code) }

// replyError is a JSON-RPC error.
type replyError struct{ rpcError }

func (e *replyError) Error() string { return fmt.Sprintf("MCP error %d: %s", e.Code, e.Message) }

type rpcReply struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// readReply reads the answer to a request from a JSON body or an event stream.
func readReply(response *http.Response, id int64) (rpcReply, error) {
	body := io.LimitReader(response.Body, upstreamLimit)
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		var reply rpcReply
		if err := json.NewDecoder(body).Decode(&reply); err != nil {
			return reply, fmt.Errorf("decode answer: %w", err)
		}
		return reply, nil
	}
	want := fmt.Sprint(id)
	var found rpcReply
	err := readEvents(body, func(data []byte) bool {
		var reply rpcReply
		if json.Unmarshal(data, &reply) != nil || reply.Method != "" || string(reply.ID) != want {
			return true
		}
		found = reply
		return false
	})
	if err == nil && found.ID == nil {
		err = io.ErrUnexpectedEOF
	}
	return found, err
}

// readEvents hands each event's data to handle until that returns false or the stream ends.
func readEvents(body io.Reader, handle func(data []byte) bool) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4096), upstreamLimit)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
			continue
		}
		if len(line) == 0 && len(data) > 0 {
			if !handle(data) {
				return nil
			}
			data = data[:0]
		}
	}
	return lines.Err()
}
