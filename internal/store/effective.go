package store

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// Effective is what a connection should be after all: its own config or its account's, under the intents that cover it.
type Effective struct {
	// Desired is empty but for key and engine when the connection is removed. Its engine is the workspace's; that of the
	// connection's own config where the workspace is not known.
	Desired

	Account    string  // of the workspace; empty: the workspace is not known, and nothing of an account applies
	Shared     bool    // the config is the account's
	Credential string  // names what is minted for the config
	Intent     *Intent // the one that decides; nil: the config's own enabled does
	Removed    bool
}

// AccountCredential names what is minted for a shared config.
func AccountCredential(account, name string) string {
	return credential("account", account, name)
}

// ConnectionCredential names what is minted for a connection's own config.
func ConnectionCredential(key Key) string {
	directory := sha256.Sum256([]byte(key.Directory))
	return credential("connection", key.Workspace, key.Name, hex.EncodeToString(directory[:8]))
}

// credential escapes the parts: two configs must never share a token by a slash in a name.
func credential(kind string, parts ...string) string {
	var b strings.Builder
	b.WriteString(kind)
	for _, part := range parts {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

// layers are the rows that make up one connection; nil where there is none.
type layers struct {
	key       Key
	own       *Desired
	shared    *AccountDesired
	workspace *Workspace
	ofAccount *Intent
	ofPlace   *Intent // of the workspace
}

// merge puts the layers together: the account's config wins over the connection's own. ok is false where there is neither.
func merge(l layers) (e Effective, ok bool) {
	switch {
	case l.shared != nil:
		e.Desired = Desired{
			Profile: l.shared.Profile, Config: l.shared.Config, Metadata: l.shared.Metadata, TokenSource: l.shared.TokenSource,
			UpdatedAt: l.shared.UpdatedAt,
		}
		e.Shared = true
		e.Credential = AccountCredential(l.shared.Account, l.shared.Name)
	case l.own != nil:
		e.Desired = *l.own
		e.Credential = ConnectionCredential(l.key)
	default:
		return Effective{}, false
	}
	e.Key = l.key
	if l.workspace != nil {
		e.EngineID, e.Account = l.workspace.EngineID, l.workspace.Account
	}
	e.Intent = decide(l.ofAccount, l.ofPlace)
	if e.Intent == nil {
		return e, true
	}
	if e.Intent.Kind == IntentRemoved {
		e.Desired = Desired{Key: l.key, EngineID: e.EngineID}
		e.Removed = true
		return e, true
	}
	enabled := e.Intent.Kind == IntentEnabled
	e.Config.Enabled = &enabled
	return e, true
}

// decide chooses between the intents for an account and for one of its workspaces. What takes away wins, removed before disabled,
// but a workspace may be disabled or enabled apart from what is enabled for the account.
func decide(ofAccount, ofPlace *Intent) *Intent {
	is := func(intent *Intent, kind IntentKind) bool { return intent != nil && intent.Kind == kind }
	switch {
	case is(ofAccount, IntentRemoved):
		return ofAccount
	case is(ofPlace, IntentRemoved):
		return ofPlace
	case is(ofAccount, IntentDisabled):
		return ofAccount
	case ofPlace != nil:
		return ofPlace
	default:
		return ofAccount
	}
}
