package mcpservertest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What clients are asked for.
const (
	askName     = `{"type":"object","properties":{"username":{"type":"string"},"email":{"type":"string"}},"required":["username","email"]}`
	askDefaults = `{"type":"object","properties":{
		"name": {"type": "string", "description": "User name", "default": "John Doe"},
		"age": {"type": "integer", "description": "User age", "default": 30},
		"score": {"type": "number", "description": "User score", "default": 95.5},
		"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
		"verified": {"type": "boolean", "description": "Verification status", "default": true}
	}}`
	askChoices = `{"type":"object","properties":{
		"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
		"titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}]},
		"legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
		"untitledMulti": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
		"titledMulti": {"type": "array", "minItems": 1, "items": {"anyOf": [
			{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}
		]}}
	}}`
)

type promptInput struct {
	Prompt string `json:"prompt"`
}

type messageInput struct {
	Message string `json:"message"`
}

// addQuestions adds the tools that ask the client something.
func addQuestions(server *mcp.Server) {
	mcp.AddTool(server, &mcp.Tool{Name: "test_sampling", Description: "has the client's model say something"}, sample)
	mcp.AddTool(server, &mcp.Tool{Name: "test_elicitation", Description: "asks for a name"},
		func(ctx context.Context, req *mcp.CallToolRequest, in messageInput) (output, any, error) {
			return elicit(ctx, req, in.Message, askName)
		})
	mcp.AddTool(server, &mcp.Tool{Name: "test_elicitation_sep1034_defaults", Description: "asks with defaults"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ any) (output, any, error) {
			return elicit(ctx, req, "Please review the values.", askDefaults)
		})
	mcp.AddTool(server, &mcp.Tool{Name: "test_elicitation_sep1330_enums", Description: "asks with choices"},
		func(ctx context.Context, req *mcp.CallToolRequest, _ any) (output, any, error) {
			return elicit(ctx, req, "Please choose.", askChoices)
		})
}

func sample(ctx context.Context, req *mcp.CallToolRequest, in promptInput) (output, any, error) {
	//nolint:staticcheck // clients of sessions are asked so, and the modern protocol has no sessions
	answer, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
		MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Prompt}}},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("ask model: %w", err)
	}
	content, isText := answer.Content.(*mcp.TextContent)
	if !isText {
		return nil, nil, fmt.Errorf("ask model: it answers with %T, not with a text", answer.Content)
	}
	return text("LLM response: " + content.Text)
}

func elicit(ctx context.Context, req *mcp.CallToolRequest, message, schema string) (output, any, error) {
	answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
	if err != nil {
		return nil, nil, fmt.Errorf("ask user: %w", err)
	}
	return text(fmt.Sprintf("Elicitation completed: action=%s, content=%v", answer.Action, answer.Content))
}
