package catalog

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
	"github.com/holdfast-mcp/holdfast/internal/domain/policy"
)

// Tool is one tool of a source.
type Tool struct {
	Address     string // <source>.<name>
	Source      string
	Name        string
	Title       string
	Description string
	Input       json.RawMessage // JSON Schema
	Output      json.RawMessage // nil: none
	Annotations policy.Annotations
	// HonoursKey says that the upstream makes a call once for an idempotency key, however often it comes.
	HonoursKey bool
	// Raw is the tool as the source lists it.
	Raw json.RawMessage
}

// Repeatable reports whether a call that may have been made may be made again.
func (t Tool) Repeatable() bool {
	return t.HonoursKey || isTrue(t.Annotations.ReadOnly) || isTrue(t.Annotations.Idempotent)
}

// Harmless reports whether a call may be made without a record of it beforehand: the tool is read-only or idempotent by its own word.
func (t Tool) Harmless() bool {
	return isTrue(t.Annotations.ReadOnly) || isTrue(t.Annotations.Idempotent)
}

func isTrue(hint *bool) bool { return hint != nil && *hint }

// CallRequest is a call of an upstream tool.
type CallRequest struct {
	Address   string
	Arguments json.RawMessage
	// Key is sent upstream as idempotency key, in _meta and over HTTP also as a header: see [KeyMeta]. Empty: none.
	Key string
	// Elicit answers what the tool asks for while it is called, one question at a time; nil: the tool is told that the person called
	// it off, see [CallResult].Unanswered. The time it takes is no part of the source's timeout. An error of it tells the tool that
	// nobody could be asked.
	Elicit func(ctx context.Context, question approval.Request) (approval.Decision, error)
}

// CallResult is what a tool answered.
type CallResult struct {
	Result    json.RawMessage // the JSON of the result, as it came
	ToolError bool
	// Unanswered says that something was asked while the call was made, and that nobody could be asked: see [CallRequest].Elicit.
	Unanswered bool
}

// The codes of a [CallError].
const (
	CodeUnreachable  = "upstream_unreachable"  // no connection, or it ended; or the upstream said so of what is behind it
	CodeTimeout      = "upstream_timeout"      // no answer in time, or the caller gave up
	CodeRefused      = "upstream_refused"      // the upstream answered that it does not make this call
	CodeUnauthorized = "upstream_unauthorized" // it does not accept what it was given as proof of who calls
	CodeProtocol     = "upstream_protocol"     // it answered something that cannot be understood
)

// CallError tells of a call that has no result.
type CallError struct {
	Address string
	// Sent says that the call may have reached the tool.
	Sent bool
	// Answered says that the upstream answered, and that the call is known not to have succeeded.
	Answered bool
	Code     string
	// Message is what the upstream itself says of a refusal, for whoever has called, at most 500 characters; often empty. It is no part
	// of the error's text.
	Message string
	Cause   error
}

func (e *CallError) Error() string { return fmt.Sprintf("call %s: %s", e.Address, e.Code) }

// Unwrap gives the cause, for logs; it never goes to a client.
func (e *CallError) Unwrap() error { return e.Cause }

// Unknown reports whether it is not known what became of the call: it may have had its effect.
func (e *CallError) Unknown() bool { return e.Sent && !e.Answered }

// Hit is a tool that a search found.
type Hit struct {
	Tool  Tool
	Score float64
}

// Catalog is what the gateway and the worker know of tools.
type Catalog interface {
	// Lookup reads one tool, without listing any; [ErrNoTool] where there is none, [ErrNotListed] where that is not known.
	Lookup(ctx context.Context, address string) (Tool, error)
	// Search finds tools by words, best first; an empty query lists them in the order of addresses.
	Search(ctx context.Context, query string, limit int) ([]Hit, error)
	// Suggest names at most 5 addresses like one that is not known.
	Suggest(address string) []string
	// Sources names the sources, sorted.
	Sources() []string
	// Validate holds arguments against the tool's schema; the error says what is wrong and is no secret's copy.
	Validate(tool Tool, arguments json.RawMessage) error
	// Call calls the tool; an error is a [*CallError].
	Call(ctx context.Context, call CallRequest) (CallResult, error)
}
