package text

// Clip is the text with at most so many characters, 1 or more; the last one of a longer text is an ellipsis.
func Clip(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
