package gatehost

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-mcp/holdfast/internal/domain/payload"
)

const instructions = "Holdfast reaches tools of many sources through one endpoint. Find them with search_capabilities, call them with " +
	"execute_capability. Calls that change something may wait for a person: the result then has an executionId, and resume goes on with it. " +
	"An execution outlives this session: its outcome can be read later, from any session of the same account."

type skillsInput struct {
	Name string `json:"name"`
}

// skills gives guides as text alone: they are read, not processed.
func (s *serving) skills(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in skillsInput
	if input(req, &in) != nil {
		return result(payload.BadArguments(ToolSkills, "name is a string")), nil
	}
	switch {
	case strings.TrimSpace(in.Name) == "":
		return guide(skillsIndex, false), nil
	case in.Name == ToolExecute:
		return guide(executeGuide+s.inventory(), false), nil
	default:
		return guide("There is no guide of that name.\n\n"+skillsIndex, true), nil
	}
}

func guide(text string, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: isError}
}

const skillsIndex = "Guides:\n\n- execute_capability: find tools, call them, and go on with calls that wait for a person\n\n" +
	"Call skills with a name to read one."

const executeGuide = `# Calling tools

1. Find the tool: search_capabilities {"query": "delete repository"} gives addresses (<source>.<tool>) and input schemas.
2. Call it: execute_capability {"address": "<source>.<tool>", "arguments": {...}}. Arguments are checked against the schema before
   anybody is asked or anything is done.
3. Read structuredContent.status of the result:

| status | what it means | what to do |
| --- | --- | --- |
| completed | the tool answered | use the content |
| waiting_for_interaction | the user has to answer | ask them, then resume {"executionId", "action", "content"} |
| user_approval_required | a person has to decide on a page | show approvalUrl to the user, then resume {"executionId"} |
| execution_pending | it goes on and has no outcome yet | resume {"executionId"}; do not make the call again |
| execution_expired | nobody decided in time; the tool was not called | make the call again if it is still wanted |
| execution_already_settled | it was decided otherwise before | the first decision counts; read the outcome with resume |
| execution_not_found | unknown, or its outcome is kept no longer | check before making the call again |
| execution_forbidden | it belongs to another account or organization | leave it |
| error | see reason | see below |

Reasons of error: tool_error (the tool's own answer), failed, declined, cancelled, tool_blocked (a rule forbids it; asking does not
help), tool_not_found, invalid_tool_arguments, unavailable (try again in a while), and outcome_unknown: the call may or may not have
run. Find out before you make such a call again.

Never accept for the user. resume may be called any number of times, from any session of the same account: it gives the same outcome
and never makes the call twice. A call with _meta "holdfast/idempotencyKey" is made once under that key, however often it is sent.`
