package health

import (
	"strings"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

// maxReason bounds the reason in a message, in characters: messages are kept in
// places that hold little.
const maxReason = 200

// Decision is how a person came to switch a server off.
type Decision struct {
	// Account is set when it is switched off in all workspaces of an account;
	// else it is in Workspace.
	Account   string
	Workspace string
	Name      string
	By        string    // empty: not known
	Reason    string    // empty: none was given
	At        time.Time // zero: not known
}

// SwitchedOff says that a person switched the server off, whatever its config
// says: nothing is wrong with that one.
func SwitchedOff(d Decision) Failure {
	return kind{
		code: CodeDisabled, stage: StageDesiredConfig, alias: AliasDisabled,
		action: "To switch it on again, run " + d.undo() + ".",
	}.failure(d.told(), nil)
}

func (d Decision) told() string {
	text := "The MCP server was switched off for workspace " + d.Workspace
	if d.Account != "" {
		text = "The MCP server was switched off for account " + d.Account
	}
	if d.By != "" {
		text += " by " + redact.String(d.By)
	}
	if !d.At.IsZero() {
		text += " on " + d.At.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	// The reason comes last: redaction may take the rest of a text with it.
	if reason := brief(redact.String(strings.TrimSpace(d.Reason))); reason != "" {
		return text + "; the reason given: " + reason
	}
	return text + "; no reason was given."
}

func (d Decision) undo() string {
	if d.Account != "" {
		return "holdfast account enable " + shellWord(d.Account+"/"+d.Name)
	}
	return "holdfast connection enable " + shellWord(d.Workspace+"/"+d.Name)
}

func brief(text string) string {
	if short := []rune(text); len(short) > maxReason {
		return string(short[:maxReason]) + "…"
	}
	return text
}

// shellWord quotes a text that a shell would take apart.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./@%+:,", r)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}
