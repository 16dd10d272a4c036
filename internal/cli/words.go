package cli

import (
	"strconv"
	"strings"
)

// count is a number of things, such as "1 pass" or "2 passes".
func count(n int, thing string) string {
	many := "s"
	if strings.HasSuffix(thing, "s") || strings.HasSuffix(thing, "ch") {
		many = "es"
	}
	return strconv.Itoa(n) + " " + thing + pick(n, "", many)
}

// pick chooses the form of a word that goes with a number.
func pick(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
