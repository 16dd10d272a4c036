package mcpservertest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// pixel is a picture of one red pixel, silence a sound of no samples.
	pixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

	mimePNG  = "image/png"
	mimeText = "text/plain"

	// schema2020 has the keywords of JSON Schema 2020-12 that a list has to keep.
	schema2020 = `{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"type": "object",
		"$defs": {"address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
		"additionalProperties": false
	}`
)

// addTools adds the tools that only answer.
func (c Conformance) addTools(server *mcp.Server) {
	add := func(name, description string, answer func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error)) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Description: description},
			func(ctx context.Context, req *mcp.CallToolRequest, _ any) (output, any, error) {
				content, err := answer(ctx, req)
				return &mcp.CallToolResult{Content: content}, nil, err
			})
	}
	embedded := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
		URI: "test://embedded-resource", MIMEType: mimeText, Text: "This is an embedded resource content.",
	}}
	image := &mcp.ImageContent{Data: bytesOf(pixel), MIMEType: mimePNG}
	add("test_simple_text", "answers with a text", always(&mcp.TextContent{Text: "This is a simple text response for testing."}))
	add("test_image_content", "answers with a picture", always(image))
	add("test_audio_content", "answers with a sound", always(&mcp.AudioContent{Data: bytesOf(silence), MIMEType: "audio/wav"}))
	add("test_embedded_resource", "answers with a resource", always(embedded))
	add("test_multiple_content_types", "answers with a text, a picture and a resource",
		always(&mcp.TextContent{Text: "Multiple content types test:"}, image, embedded))
	add("test_error_handling", "fails", func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) {
		return nil, errors.New("this tool intentionally returns an error for testing")
	})
	add("test_tool_with_logging", "logs while it works", logs)
	add("test_tool_with_progress", "tells how far it is", progress)
	add("test_reconnection", "closes its stream, and answers when the client has come back", c.reconnection)
	mcp.AddTool(server, &mcp.Tool{
		Name: "json_schema_2020_12_tool", Description: "has a schema of 2020-12", InputSchema: json.RawMessage(schema2020),
	}, func(_ context.Context, _ *mcp.CallToolRequest, in json.RawMessage) (output, any, error) {
		return text(string(in))
	})
}

func always(content ...mcp.Content) func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) {
	return func(context.Context, *mcp.CallToolRequest) ([]mcp.Content, error) { return content, nil }
}

func said(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

// pause lies between two messages of a tool.
const pause = 50 * time.Millisecond

func logs(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
	for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		//nolint:staticcheck // clients of sessions are sent logs, and the modern protocol has no sessions
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: line}); err != nil {
			return nil, fmt.Errorf("log: %w", err)
		}
		rest(ctx, pause)
	}
	return said("Tool with logging executed successfully"), nil
}

func progress(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
	token := req.Params.GetProgressToken()
	for _, done := range []float64{0, 50, 100} {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: done, Total: 100, Message: fmt.Sprintf("Completed step %.0f of 100", done),
		})
		if err != nil {
			return nil, fmt.Errorf("tell progress: %w", err)
		}
		rest(ctx, pause)
	}
	return said(fmt.Sprint(token)), nil
}

func (c Conformance) reconnection(ctx context.Context, req *mcp.CallToolRequest) ([]mcp.Content, error) {
	req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
	rest(ctx, c.Slow)
	return said("The client has come back."), nil
}

func bytesOf(encoded string) []byte {
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		panic(err) // a constant
	}
	return raw
}
