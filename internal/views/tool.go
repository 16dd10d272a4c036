package views

import (
	"github.com/holdfast-mcp/holdfast/internal/catalog"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

// Tool is a tool without its schemas.
type Tool struct {
	Address     string             `json:"address"`
	Source      string             `json:"source"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Annotations policy.Annotations `json:"annotations"`
}

// ToolOf shows a tool.
func ToolOf(t catalog.Tool) Tool {
	return Tool{Address: t.Address, Source: t.Source, Title: t.Title, Description: t.Description, Annotations: t.Annotations}
}
