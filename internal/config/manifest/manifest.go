package manifest

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Manifest is what one or more files ask for. Every engine that a workspace names is in Engines or in Elsewhere.
type Manifest struct {
	Engines    []Engine    `yaml:"engines"`
	Accounts   []Account   `yaml:"accounts"`
	Workspaces []Workspace `yaml:"workspaces"`

	// Elsewhere are the engines that workspaces name by an id which no file gives: they have to be known already.
	Elsewhere []Reference `yaml:"-"`
}

// Reference is an id and the place that names it first.
type Reference struct {
	ID string

	place
}

// Account is the connections that all workspaces of an account should have.
type Account struct {
	ID          string       `yaml:"id"`
	Connections []Connection `yaml:"connections"`

	place `yaml:"-"`
}

// Engine is an OpenCode server.
type Engine struct {
	ID       string `yaml:"id"` // EngineID of the URL where the file gives none
	URL      string `yaml:"url"`
	Username string `yaml:"username"`
	Password string `yaml:"password"`

	place `yaml:"-"`
}

// Workspace is a directory in an engine, with the connections that it should have.
type Workspace struct {
	ID          string       `yaml:"id"`
	Directory   string       `yaml:"directory"` // absolute and cleaned; links resolved where the folder exists on this machine
	Engine      string       `yaml:"engine"`    // an Engine's ID, or that of a Reference
	Account     string       `yaml:"account"`   // whose shared connections it has; empty where no file gives one
	Connections []Connection `yaml:"connections"`

	place `yaml:"-"`
}

// Connection is one desired MCP server.
type Connection struct {
	Name          string            `yaml:"name"`
	Profile       string            `yaml:"profile"` // "generic" or "openwork"; generic where the file gives none
	URL           string            `yaml:"url"`
	Headers       map[string]string `yaml:"headers"`
	TimeoutMillis int               `yaml:"timeout"` // 0: the profile's default
	Enabled       *bool             `yaml:"enabled"` // nil: true
	OAuth         any               `yaml:"oauth"`   // nil: false, Holdfast holds the credentials itself
	ExpectedTools []string          `yaml:"expectedTools"`
	TokenMetadata map[string]any    `yaml:"tokenMetadata"`
	Org           map[string]any    `yaml:"org"`
	TokenSource   *TokenSource      `yaml:"tokenSource"` // nil: the headers are sent as they are

	place `yaml:"-"`
}

// The profiles that a file may name.
const (
	ProfileGeneric  = "generic"
	ProfileOpenWork = "openwork"
)

// place is where something stands, for errors.
type place struct {
	file string
	line int
}

// Where is "file:line".
func (p place) Where() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// UnmarshalYAML keeps the line.
func (e *Engine) UnmarshalYAML(node *yaml.Node) error {
	type plain Engine
	e.line = node.Line
	return node.Decode((*plain)(e))
}

// UnmarshalYAML keeps the line.
func (a *Account) UnmarshalYAML(node *yaml.Node) error {
	type plain Account
	a.line = node.Line
	return node.Decode((*plain)(a))
}

// UnmarshalYAML keeps the line.
func (w *Workspace) UnmarshalYAML(node *yaml.Node) error {
	type plain Workspace
	w.line = node.Line
	return node.Decode((*plain)(w))
}

// UnmarshalYAML keeps the line.
func (c *Connection) UnmarshalYAML(node *yaml.Node) error {
	type plain Connection
	c.line = node.Line
	return node.Decode((*plain)(c))
}

// Body is the connection in the JSON form from which a desired config and its metadata are normalised: {config, tokenMetadata,
// org, expectedTools}.
func (c Connection) Body() (json.RawMessage, error) {
	config := map[string]any{
		"type":    "remote",
		"url":     c.URL,
		"enabled": c.Enabled == nil || *c.Enabled,
		"oauth":   false,
	}
	if len(c.Headers) > 0 {
		config["headers"] = c.Headers
	}
	if c.TimeoutMillis != 0 {
		config["timeout"] = c.TimeoutMillis
	}
	if c.OAuth != nil {
		config["oauth"] = c.OAuth
	}
	body := map[string]any{"config": config}
	if len(c.ExpectedTools) > 0 {
		body["expectedTools"] = c.ExpectedTools
	}
	if len(c.TokenMetadata) > 0 {
		body["tokenMetadata"] = c.TokenMetadata
	}
	if len(c.Org) > 0 {
		body["org"] = c.Org
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode connection %q of %s: a value cannot be written as JSON", c.Name, c.Where())
	}
	return data, nil
}
