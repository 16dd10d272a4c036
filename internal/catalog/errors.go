package catalog

import "errors"

var (
	// ErrNoTool is returned for an address under which there is no tool.
	ErrNoTool = errors.New("no such tool")
	// ErrNotListed is returned for an address of a source whose tools were not asked for yet.
	ErrNotListed = errors.New("the tools of the source were not listed yet")
)
