package catalog

import "errors"

var (
	// ErrNoTool is returned for an address under which there is no tool.
	ErrNoTool = errors.New("no such tool")
	// ErrNotListed is returned for an address of a source whose tools are not known: it was not listed yet, and may be down.
	ErrNotListed = errors.New("the tools of the source were not listed yet: see that it runs")
)
