// Package wire holds the names that a workflow shares with the world against a file.
//
// Names of workflows, messages, activities and errors, and the fields of what they carry, are in recorded histories, in running
// workflows and in what people type. A line of the file that is gone or different breaks all of them: give it back. A line that is
// new is fine: add it.
package wire
