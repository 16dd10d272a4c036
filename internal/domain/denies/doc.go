// Package denies tells which tools of an MCP server an engine's configuration keeps from models, and by which rule.
//
// It judges the configuration that the engine itself tells (GET /config) and reads no files: the engine has merged all its
// sources by then (global and project files, those of parent folders, .opencode, agents in Markdown, environment,
// managed settings), in the order of keys that its last-match-wins needs, with `tools` turned into `permission`. It holds
// the global file of its start until it ends, and that of a project until a dispose, so files may say something that does
// not count yet; and it may run where its files cannot be read. A file that the engine cannot read makes it refuse the
// question, which is reported as unknown, with the reason. The global configuration alone (GET /global/config)
// tells where a rule comes from.
package denies
