package policy

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const (
	wildcard  = "*"
	separator = "."

	// maxPattern is the longest pattern, in bytes: longer than any address.
	maxPattern = 300
)

var segmentPattern = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// Match reports whether a valid pattern covers an address. Case matters.
func Match(pattern, address string) bool {
	if pattern == wildcard {
		return true
	}
	want, have := strings.Split(pattern, separator), strings.Split(address, separator)
	if last := len(want) - 1; want[last] == wildcard {
		want = want[:last]
		if len(have) < len(want) {
			return false
		}
		have = have[:len(want)]
	}
	if len(have) != len(want) {
		return false
	}
	for i, segment := range want {
		if segment != wildcard && segment != have[i] {
			return false
		}
	}
	return true
}

// CheckPattern refuses a pattern that means nothing, or that could never match. The error says what to write.
func CheckPattern(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("it is empty: write an address, or * for every tool")
	case pattern == wildcard:
		return nil
	case len(pattern) > maxPattern:
		return fmt.Errorf("it is longer than %d bytes", maxPattern)
	case strings.HasPrefix(pattern, separator), strings.HasSuffix(pattern, separator):
		return errors.New("it begins or ends with a dot")
	case strings.Contains(pattern, separator+separator):
		return errors.New("it has two dots in a row: write * for a part that may be anything")
	case strings.HasPrefix(pattern, wildcard):
		return errors.New("it begins with * and goes on: name the source, or write * alone for every tool")
	}
	for segment := range strings.SplitSeq(pattern, separator) {
		switch {
		case segment == wildcard:
		case strings.Contains(segment, wildcard):
			return fmt.Errorf("%q is partly a wildcard: * stands for a whole part between dots", segment)
		case !segmentPattern.MatchString(segment):
			return fmt.Errorf("%q is no part of an address: those are of A-Z a-z 0-9 _ -", segment)
		}
	}
	return nil
}
