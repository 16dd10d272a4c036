package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// The statuses of a result.
const (
	StatusCompleted       = "completed"
	StatusError           = "error"
	StatusWaiting         = "waiting_for_interaction"
	StatusApproval        = "user_approval_required"
	StatusPending         = "execution_pending"
	StatusNotFound        = "execution_not_found"
	StatusExpired         = "execution_expired"
	StatusForbidden       = "execution_forbidden"
	StatusAlreadySettled  = "execution_already_settled"
	recoveryReExecute     = "re_execute"
	recoveryVerify        = "verify_before_retry"
	maxPreview            = 30_000
	maxArguments          = 4_000
	iso8601               = "2006-01-02T15:04:05.000Z"
	defaultApprovalWindow = 4 * time.Minute
)

// Rendered is what a caller is told.
type Rendered struct {
	Text       string
	Structured any
	IsError    bool
}

// TTL is a span of time in words: rounded to seconds, at least one; whole minutes as minutes, whole hours and days as such from three on.
func TTL(span time.Duration) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	seconds := max(1, int64(span.Round(time.Second)/time.Second))
	switch {
	case seconds%day == 0 && seconds > 2*day:
		return counted(seconds/day, "day")
	case seconds%hour == 0 && seconds > 2*hour:
		return counted(seconds/hour, "hour")
	case seconds%minute == 0:
		return counted(seconds/minute, "minute")
	default:
		return counted(seconds, "second")
	}
}

func counted(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// preview cuts a text after so many characters and says how many are left out.
func preview(text string, limit int) string {
	total := utf8.RuneCountInString(text)
	if total <= limit {
		return text
	}
	end := 0
	for range limit {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return fmt.Sprintf("%s... [truncated %d chars]", text[:end], total-limit)
}

// argumentPreview is shorter, and says only that something is left out: the page shows all.
func argumentPreview(arguments json.RawMessage) string {
	text := pretty(arguments)
	if utf8.RuneCountInString(text) <= maxArguments {
		return text
	}
	return string([]rune(text)[:maxArguments]) + "..."
}

func pretty(value json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, value, "", "  ") != nil {
		return string(value)
	}
	return out.String()
}

// Preview cuts a text of ours that would be too long for a client, and says how much is missing.
func Preview(text string) string { return preview(text, maxPreview) }
