package gatehost

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

const (
	defaultHits = 12
	maxHits     = 50
	// manyHits is how many are looked through for those that the caller may call.
	manyHits = 500
)

type searchInput struct {
	Query string `json:"query"`
	Limit int    `json:"limit"`
}

type found struct {
	Address     string              `json:"address"`
	Title       string              `json:"title,omitempty"`
	Description string              `json:"description,omitempty"`
	InputSchema json.RawMessage     `json:"inputSchema,omitempty"`
	Annotations *policy.Annotations `json:"annotations,omitempty"`
	// Approval says that a call waits for a person.
	Approval bool `json:"requiresApproval"`
}

type finds struct {
	Status string  `json:"status"`
	Tools  []found `json:"tools"`
}

func (s *serving) search(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := searchInput{Limit: defaultHits}
	if input(req, &in) != nil {
		return result(payload.BadArguments(ToolSearch, "query is a string, limit an integer")), nil
	}
	in.Limit = max(1, min(in.Limit, maxHits))
	hits, err := s.Catalog.Search(ctx, strings.TrimSpace(in.Query), manyHits)
	if err != nil {
		return nil, fmt.Errorf("search tools: %w", err)
	}
	now, account := s.Policy(ctx), s.caller(req).Identity.Account
	out := finds{Status: payload.StatusCompleted, Tools: []found{}}
	for _, hit := range hits {
		verdict := now.Judge(account, hit.Tool)
		if verdict.Effect == policy.Deny {
			continue
		}
		if out.Tools = append(out.Tools, foundOf(hit.Tool, verdict)); len(out.Tools) == in.Limit {
			break
		}
	}
	return result(payload.Rendered{Text: listed(in.Query, out.Tools), Structured: out}), nil
}

func foundOf(tool catalog.Tool, verdict policy.Verdict) found {
	out := found{
		Address: tool.Address, Title: tool.Title, Description: tool.Description, InputSchema: tool.Input, Approval: verdict.Effect == policy.Ask,
	}
	if tool.Annotations != (policy.Annotations{}) {
		out.Annotations = &tool.Annotations
	}
	return out
}

func listed(query string, tools []found) string {
	if len(tools) == 0 {
		return fmt.Sprintf("No tool fits %q. Search with fewer or other words, or without any to list all.", query)
	}
	var out strings.Builder
	for i, each := range tools {
		if i > 0 {
			out.WriteString("\n\n")
		}
		out.WriteString(each.Address)
		if each.Approval {
			out.WriteString(" (waits for a person's approval)")
		}
		if each.Description != "" {
			out.WriteString("\n" + each.Description)
		}
		if len(each.InputSchema) > 0 {
			out.WriteString("\narguments: " + string(each.InputSchema))
		}
	}
	return payload.Preview(out.String())
}
