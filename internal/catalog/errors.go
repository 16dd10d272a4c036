package catalog

import "errors"

// ErrNoTool is returned for an address under which there is no tool.
var ErrNoTool = errors.New("no such tool")
