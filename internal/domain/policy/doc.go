// Package policy decides whether a tool call may be made: by ordered rules on addresses, and by the tool's own annotations where no
// rule matches. It also gives what a decision is bound to: the canonical form of arguments, the version of the rules, and the digest
// of a call.
//
// An account's own rules can tighten what the organisation's rules say and never loosen it. It is pure: rules, defaults and
// annotations come from its callers.
package policy
