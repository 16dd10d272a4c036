// Package policyfile reads the rules on tool calls from a file that people write, and reads them again when the file changes: on use, at
// most once a second. A file that became wrong, or vanished, leaves the last good rules in place; that is told once in the log.
package policyfile
