package catalog

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

const (
	defaultLimit   = 12
	maxLimit       = 1000
	maxSuggestions = 5
	maxQueryWords  = 32
	minPrefix      = 3 // letters of a word before it counts as the beginning of another
)

// How much a word counts, by where it is found. A beginning of a word counts half.
const (
	weightName        = 8.0
	weightSource      = 5.0
	weightTitle       = 4.0
	weightDescription = 1.0
	weightWhole       = 100.0 // the query is the address or the name itself
)

type toolWords struct{ name, source, title, description []string }

func wordsOfTool(tool Tool) toolWords {
	return toolWords{
		name: split(tool.Name), source: split(tool.Source), title: split(tool.Title), description: split(tool.Description),
	}
}

// split gives the words of a text in lower case. Names are split where their case changes, too.
func split(text string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	lower := false
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && lower:
			flush()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	flush()
	return words
}

// search ranks by how much of the query is found, and where. Ties are in the order of addresses.
func (s *snapshot) search(query string, limit int) []Hit {
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	words := split(query)
	if len(words) > maxQueryWords {
		words = words[:maxQueryWords]
	}
	hits := []Hit{}
	for _, entry := range s.sorted {
		score := 0.0
		if len(words) > 0 {
			if score = entry.score(words, strings.TrimSpace(query)); score == 0 {
				continue
			}
		}
		hits = append(hits, Hit{Tool: entry.tool, Score: score})
	}
	slices.SortStableFunc(hits, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(limit, len(hits))]
}

func (k *known) score(words []string, whole string) float64 {
	sum, found := 0.0, 0
	for _, word := range words {
		best := max(
			weightName*in(k.words.name, word), weightSource*in(k.words.source, word),
			weightTitle*in(k.words.title, word), weightDescription*in(k.words.description, word),
		)
		if best > 0 {
			sum, found = sum+best, found+1
		}
	}
	score := sum * float64(found) / float64(len(words))
	if strings.EqualFold(whole, k.tool.Address) || strings.EqualFold(whole, k.tool.Name) {
		score += weightWhole
	}
	return score
}

// in says how well a word is found: 1 as it is, ½ as the beginning of another one.
func in(words []string, wanted string) float64 {
	best := 0.0
	for _, word := range words {
		if word == wanted {
			return 1
		}
		if len(wanted) >= minPrefix && strings.HasPrefix(word, wanted) {
			best = 0.5
		}
	}
	return best
}

// suggest names addresses like one that is not known: of the same name elsewhere, or hardly different.
func (s *snapshot) suggest(address string) []string {
	type near struct {
		address  string
		distance int
	}
	wanted := strings.ToLower(clip(address, 200))
	_, name, _ := strings.Cut(wanted, ".")
	if name == "" {
		name = wanted
	}
	allowed := max(2, len(wanted)/3)
	var found []near
	for _, entry := range s.sorted {
		have := strings.ToLower(entry.tool.Address)
		distance := edits(wanted, have, allowed)
		if strings.EqualFold(entry.tool.Name, name) {
			distance = min(distance, 1)
		}
		if distance <= allowed {
			found = append(found, near{entry.tool.Address, distance})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	addresses := []string{}
	for _, each := range found[:min(maxSuggestions, len(found))] {
		addresses = append(addresses, each.address)
	}
	return addresses
}

// edits counts insertions, removals and replacements of bytes between two texts; more than limit is limit + 1.
func edits(a, b string, limit int) int {
	if max(len(a), len(b))-min(len(a), len(b)) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit+1)
}
