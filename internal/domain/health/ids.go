package health

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/domain/redact"
)

var (
	requestIDText   = regexp.MustCompile(`(?i)(?:x-request-id|request[ _-]id)[=: ]+([A-Za-z0-9._:\-]+)`)
	referenceIDText = regexp.MustCompile(`(?i)reference[ _-]id[=: ]+([A-Za-z0-9._:\-]+)`)
)

// idSearch looks for one kind of id, by key and inside texts.
type idSearch struct {
	keys []string // lower case, without "-" and "_"
	text *regexp.Regexp
}

// harvest finds the ids by which operators of other systems find their logs.
func harvest(details map[string]any) (requestID, referenceID string) {
	requests := idSearch{keys: []string{"requestid", "xrequestid"}, text: requestIDText}
	references := idSearch{keys: []string{"referenceid"}, text: referenceIDText}
	return redact.String(requests.in(details)), redact.String(references.in(details))
}

// in returns the first id, depth first, keys of an object before its contents
// and in order, so that equal details give an equal id. Redacted details are
// at most 32 levels deep.
func (s idSearch) in(v any) string {
	switch t := v.(type) {
	case string:
		if m := s.text.FindStringSubmatch(t); m != nil {
			return m[1]
		}
	case []any:
		for _, item := range t {
			if id := s.in(item); id != "" {
				return id
			}
		}
	case map[string]any:
		return s.inObject(t)
	}
	return ""
}

func (s idSearch) inObject(fields map[string]any) string {
	names := slices.Sorted(maps.Keys(fields))
	fold := strings.NewReplacer("-", "", "_", "")
	for _, name := range names {
		id, isText := fields[name].(string)
		if isText && id != "" && slices.Contains(s.keys, fold.Replace(strings.ToLower(name))) {
			return id
		}
	}
	for _, name := range names {
		if id := s.in(fields[name]); id != "" {
			return id
		}
	}
	return ""
}
