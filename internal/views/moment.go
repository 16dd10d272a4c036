package views

import "time"

// Moment is a time in UTC; nil for none.
func Moment(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}
