// Package redact takes secrets out of texts and values before they reach a log,
// an error, a health report, a workflow history or a response.
//
// It is pure and knows no configuration. Everything that carries foreign text
// (engine errors, HTTP bodies, cause chains) passes through [String] or [Value].
// Where a text is ambiguous it removes too much rather than too little. Both
// functions are idempotent and never panic.
package redact
