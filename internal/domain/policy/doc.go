// Package policy decides whether a tool call may be made: by ordered rules on addresses, and by the tool's own annotations where no rule
// matches. It is pure.
package policy
