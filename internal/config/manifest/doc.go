// Package manifest reads the YAML file of `holdfast connection apply -f`: engines, the MCP connections that each workspace should
// have, and those that all workspaces of an account share. Several files, and several documents in a file, are read as one.
//
// `${NAME}` inside a value stands for an environment variable, so that tokens stay out of the file. Errors name file and line,
// never a value.
package manifest
