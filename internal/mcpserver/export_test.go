package mcpserver

// What tests hold by itself.
var (
	Exact   = exact
	TopKeys = topKeys
)
