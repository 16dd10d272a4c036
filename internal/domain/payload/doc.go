// Package payload says in words and in fields what became of a tool call: the text, the structuredContent and the isError of an MCP
// tool result. The shapes are those that existing clients read (sessions: completed, waiting_for_interaction, user_approval_required and
// the execution_* errors); no two different ends of a call are ever told as one another. It is pure: what it is given is masked already.
package payload
