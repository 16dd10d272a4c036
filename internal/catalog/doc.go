// Package catalog holds the tools of all sources: where they come from, how they are found, and how they are called.
//
// A source is an MCP server, over Streamable HTTP or as a child process. Its tools are listed in the background and kept while it is
// down; what readers see is an immutable snapshot, so that looking a tool up never waits for a source. Calls go over connections that
// are kept, one session shared by calls that may be made twice, and one each for those that may not, or that may ask their caller: so
// one bad answer never leaves the outcome of another call unknown, and no question ever reaches the wrong caller.
package catalog
