package searchattr

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/holdfast-mcp/holdfast/internal/domain/approval"
)

// OwnerOf is the value of [Owner] for an identity: it tells owners apart and does not name them.
func OwnerOf(who approval.Identity) string {
	sum := sha256.Sum256([]byte(who.Account + "\x00" + who.Organisation))
	return hex.EncodeToString(sum[:8])
}
