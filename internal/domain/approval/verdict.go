package approval

import (
	"bytes"
	"encoding/json"
)

// Verdict says what became of a wish to decide.
type Verdict string

// What becomes of wishes.
const (
	VerdictDecided  Verdict = "decided"  // it is the decision
	VerdictRepeated Verdict = "repeated" // the same was decided before
	VerdictConflict Verdict = "conflict" // another was decided before
	VerdictExpired  Verdict = "expired"  // nobody decided in time
	VerdictDropped  Verdict = "dropped"  // the run ended before
)

// Judge says what a wish means for a pause that waits no more: whether it is what was decided. ok is false where the pause still
// waits, so that the wish could become its decision.
func (p Pause) Judge(wish Decision) (v Verdict, ok bool) {
	switch {
	case p.Decision != nil && p.agrees(wish):
		return VerdictRepeated, true
	case p.Decision != nil:
		return VerdictConflict, true
	case p.Expired:
		return VerdictExpired, true
	case p.Dropped:
		return VerdictDropped, true
	default:
		return "", false
	}
}

// agrees reports whether a wish asks for what was decided. Who asks, when and why make no difference.
func (p Pause) agrees(wish Decision) bool {
	wish = p.tidy(wish)
	return p.Decision.Action == wish.Action && bytes.Equal(canonical(p.Decision.Content), canonical(wish.Content))
}

// tidy takes away what a pause does not ask for: content belongs to an accepted form alone.
func (p Pause) tidy(d Decision) Decision {
	if d.Action != ActionAccept || p.Request.Kind != KindForm {
		d.Content = nil
	}
	return d
}

// canonical writes an object so that equal ones are equal bytes. No content is an empty object.
func canonical(content json.RawMessage) []byte {
	var v map[string]any
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	if len(content) == 0 || decoder.Decode(&v) != nil || len(v) == 0 {
		return []byte("{}")
	}
	out, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return out
}
