package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

const (
	// MaxReason is how many characters an approver may give as reason.
	MaxReason = 1000
	// MaxContent is how many bytes the content of a decision may have: it is part of the workflow's history.
	MaxContent = 64 << 10
)

// ErrBadDecision means that something cannot be a decision; the text says why and holds nothing of it.
var ErrBadDecision = errors.New("not a decision")

// Check reports what is wrong with a decision.
func (d Decision) Check() error {
	switch {
	case !d.Action.Valid():
		return fmt.Errorf("%w: the action is accept, decline or cancel", ErrBadDecision)
	case utf8.RuneCountInString(d.Reason) > MaxReason:
		return fmt.Errorf("%w: the reason has more than %d characters", ErrBadDecision, MaxReason)
	case len(d.Content) > MaxContent:
		return fmt.Errorf("%w: the content has more than %d bytes", ErrBadDecision, MaxContent)
	case len(d.Content) > 0 && !isObject(d.Content):
		return fmt.Errorf("%w: the content is a JSON object", ErrBadDecision)
	default:
		return nil
	}
}

func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}
