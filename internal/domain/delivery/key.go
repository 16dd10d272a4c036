package delivery

// Key names one connection: an MCP server's name in a directory of a workspace.
type Key struct {
	Workspace string `json:"workspace"`
	Name      string `json:"name"`
	// Directory is absolute, cleaned, with symlinks resolved: the engine knows a directory by this form.
	Directory string `json:"directory"`
}

// String is the key in the form that people read. It is no identifier: parts are not escaped.
func (k Key) String() string { return k.Workspace + "/" + k.Name + " in " + k.Directory }
