package mcpserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Methods that the transport has to know.
const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodSetLevel    = "logging/setLevel"
	notifyCancelled   = "notifications/cancelled"
)

// maxBatch bounds the messages of one POST.
const maxBatch = 100

// message is one JSON-RPC message of a client. The id is kept as it came, so that the answer bears the same.
type message struct {
	id     json.RawMessage // nil: a notification
	method string          // empty: a response
	params json.RawMessage
	result json.RawMessage
	fault  *jsonrpc.Error
	raw    json.RawMessage
}

func (m *message) call() bool { return m.method != "" && m.id != nil }

func (m *message) response() bool { return m.method == "" }

type wireMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *jsonrpc.Error  `json:"error"`
}

// parseBody reads the messages of a POST.
func parseBody(body []byte) (messages []message, batch bool, err error) {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 || body[0] != '[' {
		m, err := parseMessage(body)
		if err != nil {
			return nil, false, err
		}
		return []message{m}, false, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(body, &parts); err != nil {
		return nil, true, refuse(http.StatusBadRequest, jsonrpc.CodeParseError, "Parse error: the body is no JSON")
	}
	if len(parts) == 0 || len(parts) > maxBatch {
		return nil, true, refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "Invalid Request: a batch has 1 to 100 messages")
	}
	seen := map[string]bool{}
	for _, part := range parts {
		m, err := parseMessage(part)
		if err != nil {
			return nil, true, err
		}
		if m.call() && seen[string(m.id)] {
			return nil, true, refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, "Invalid Request: two requests of a batch have one id")
		}
		seen[string(m.id)] = m.call()
		messages = append(messages, m)
	}
	return messages, true, nil
}

func parseMessage(raw []byte) (message, error) {
	var wire wireMessage
	if err := json.Unmarshal(raw, &wire); err != nil {
		text := "Parse error: the body is no JSON"
		if typed := (*json.UnmarshalTypeError)(nil); errors.As(err, &typed) {
			text = "Parse error: the body is no JSON-RPC message"
		}
		return message{}, refuse(http.StatusBadRequest, jsonrpc.CodeParseError, text)
	}
	if !exact(raw, "jsonrpc", "id", "method", "params", "result", "error") {
		return message{}, refuse(http.StatusBadRequest, jsonrpc.CodeParseError, "Parse error: a member is there twice, or in another case")
	}
	m := message{id: wire.ID, params: wire.Params, result: wire.Result, fault: wire.Error, raw: raw}
	if bytes.Equal(m.id, []byte("null")) {
		m.id = nil
	}
	if wire.Method != nil {
		m.method = *wire.Method
	}
	if wire.Version != "2.0" || !validID(m.id) || m.method == "" && (m.id == nil || wire.Method != nil || m.result == nil && m.fault == nil) {
		return message{}, refuse(http.StatusBadRequest, jsonrpc.CodeParseError, "Parse error: the body is no JSON-RPC message")
	}
	return m, nil
}

// validID holds for a string, a number, or none.
func validID(id json.RawMessage) bool {
	return id == nil || id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// shortID names a request within its stream. A long id of a client is told by its digest.
func shortID(id json.RawMessage) string {
	if len(id) <= 128 {
		return string(id)
	}
	sum := sha256.Sum256(id)
	return hex.EncodeToString(sum[:])
}

// encodeResponse writes a response under the client's own id. A result is encoded already, and may be large: it is copied once.
func encodeResponse(id json.RawMessage, response *jsonrpc.Response) []byte {
	const (
		head   = `{"jsonrpc":"2.0","id":`
		result = `,"result":`
		fault  = `,"error":`
	)
	body, kind := []byte(response.Result), result
	if response.Error != nil {
		body, kind = encodeError(response.Error), fault
	}
	if len(body) == 0 {
		body = []byte("{}")
	}
	out := make([]byte, 0, len(head)+len(id)+len(kind)+len(body)+1)
	out = append(out, head...)
	out = append(out, id...)
	out = append(out, kind...)
	out = append(out, body...)
	return append(out, '}')
}

func encodeError(err error) []byte {
	told := &jsonrpc.Error{Message: err.Error()}
	if known := (*jsonrpc.Error)(nil); errors.As(err, &known) {
		told.Code, told.Data = known.Code, known.Data
	}
	if told.Code == 0 {
		told.Code = jsonrpc.CodeInternalError
	}
	raw, failed := json.Marshal(told)
	if failed != nil {
		return []byte(`{"code":-32603,"message":"the error cannot be written"}`)
	}
	return raw
}
