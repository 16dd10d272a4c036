package mcpprobe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// resume reads the tools in a session that an earlier probe made. The SDK's client cannot take up a session without
// initialize, so these requests are made by hand.
func (p *prober) resume(ctx context.Context, canary *Session) ([]string, error) {
	return list(ctx, func(ctx context.Context, cursor string) (*mcp.ListToolsResult, error) {
		ctx, s := p.begin(ctx, StepToolsList)
		s.further = cursor != ""
		page, err := p.canaryPage(ctx, canary, cursor)
		s.end(ctx, err)
		return page, err
	})
}

func (p *prober) canaryPage(ctx context.Context, canary *Session, cursor string) (*mcp.ListToolsResult, error) {
	// An id must not repeat within a session, and this session outlives the process.
	id, err := jsonrpc.MakeID(fmt.Sprintf("probe-%d", time.Now().UnixNano()))
	if err != nil {
		return nil, fmt.Errorf("make request id: %w", err)
	}
	params, err := json.Marshal(&mcp.ListToolsParams{Cursor: cursor})
	if err != nil {
		return nil, fmt.Errorf("encode params: %w", err)
	}
	body, err := jsonrpc.EncodeMessage(&jsonrpc.Request{ID: id, Method: "tools/list", Params: params})
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	resp, err := p.send(ctx, http.MethodPost, canary, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if !statusOK(resp.StatusCode) {
		return nil, fmt.Errorf("list tools: http %d", resp.StatusCode)
	}
	answer, err := readAnswer(resp, id)
	if err != nil {
		return nil, err
	}
	return toolsOf(answer)
}

func toolsOf(answer *jsonrpc.Response) (*mcp.ListToolsResult, error) {
	if answer.Error != nil {
		return nil, answer.Error
	}
	page := &mcp.ListToolsResult{}
	if err := json.Unmarshal(answer.Result, page); err != nil || page.Tools == nil {
		return nil, errNoTools
	}
	return page, nil
}

// dismiss ends a canary session; best effort, like the SDK's own DELETE.
func (p *prober) dismiss(ctx context.Context, canary *Session) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing(p.wire.timeout))
	defer cancel()
	if resp, err := p.send(ctx, http.MethodDelete, canary, nil); err == nil {
		_ = resp.Body.Close()
	}
}

func (p *prober) send(ctx context.Context, method string, canary *Session, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	if body != nil {
		req.Header.Set("Content-Type", mediaJSON)
		req.Header.Set("Accept", mediaJSON+", "+mediaEvents)
	}
	req.Header.Set(headerSession, canary.ID)
	if canary.ProtocolVersion != "" {
		req.Header.Set(headerVersion, canary.ProtocolVersion)
	}
	return p.client.Do(req)
}

const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
)

// readAnswer reads the answer to one request, from a JSON body or an event stream. The wire has bounded the body, and
// matched a JSON one with its request.
func readAnswer(resp *http.Response, id jsonrpc.ID) (*jsonrpc.Response, error) {
	switch mediaType(resp) {
	case mediaJSON:
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		return decodeAnswer(body)
	case mediaEvents:
		return scanAnswer(resp.Body, id)
	default:
		return nil, errNotJSONRPC
	}
}

func mediaType(resp *http.Response) string {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // an unreadable one is none
	return media
}

func decodeAnswer(body []byte) (*jsonrpc.Response, error) {
	message, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		// Endpoints that reject a request unread answer with an error whose id is null; the SDK does not decode those.
		var anonymous struct {
			Error *jsonrpc.Error `json:"error"`
		}
		if json.Unmarshal(body, &anonymous) == nil && anonymous.Error != nil {
			return &jsonrpc.Response{Error: anonymous.Error}, nil
		}
		return nil, errNotJSONRPC
	}
	answer, isAnswer := message.(*jsonrpc.Response)
	if !isAnswer {
		return nil, errWrongAnswer
	}
	return answer, nil
}

// scanAnswer takes the first event that answers the request; other messages of the server are passed over.
func scanAnswer(stream io.Reader, id jsonrpc.ID) (*jsonrpc.Response, error) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 2*maxAnswerBytes) // the wire's bound comes first
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if value, isData := bytes.CutPrefix(line, []byte("data:")); isData {
			data = append(append(data, value...), '\n')
			continue
		}
		if len(line) > 0 {
			continue
		}
		if answer, err := decodeAnswer(data); err == nil && answer.ID == id {
			return answer, nil
		}
		data = data[:0]
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if answer, err := decodeAnswer(data); err == nil && answer.ID == id {
		return answer, nil
	}
	return nil, errNoAnswer
}
