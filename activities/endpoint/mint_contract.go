package endpoint

import (
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
)

// MintName is the name of the activity. It is part of recorded histories: never rename it.
const MintName = "endpoint.mint-token"

// MintTimeout bounds one try of the activity: waiting for another process's mint and probe, then the token server, the
// probe of the endpoint with the new token, and the store. A mint that nobody else is at takes at most a minute of it.
const MintTimeout = 2 * time.Minute

// MintRequest asks that the credential of a connection has a token that can be delivered.
type MintRequest struct {
	Key      delivery.Key `json:"key"`
	Revision string       `json:"revision"`
	// Sequence is the newest token that is not good enough any more; 0: any that lives and is not due for renewal will do.
	Sequence int64 `json:"sequence,omitempty"`
	// Force distrusts what there is, up to Sequence or, where that is 0, whatever it is: it is dropped for every process before
	// another one is minted. What somebody else has minted since stays.
	Force bool `json:"force,omitempty"`
}

// MintResult says which token is current. It never holds the token.
type MintResult struct {
	// DesiredChanged means that the store holds another revision by now, or none; nothing was minted.
	DesiredChanged bool `json:"desiredChanged,omitempty"`
	// Sequence counts the tokens of the credential.
	Sequence  int64      `json:"sequence"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
	RenewAt   *time.Time `json:"renewAt,omitempty"`
	// Minted is false where a token that was there already is good enough.
	Minted bool `json:"minted,omitempty"`
}
