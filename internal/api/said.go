package api

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSaidBytes bounds a reason or a trigger: it goes into a workflow's history and is shown to people.
const maxSaidBytes = 200

// maxParamBytes bounds a parameter of a query: a directory, or the token of a page.
const maxParamBytes = 4096

// said is what a caller says in a member of the body, without blanks around it.
func said(member, text string) (string, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxSaidBytes || !printable(text) {
		return "", failf(CodeInvalidPayload, "%s must be printable and at most %d bytes.", member, maxSaidBytes)
	}
	return text, nil
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// legible refuses a path or a query that nobody could show, and that Temporal would not take: it is no outage.
func (c *call) legible() error {
	for _, name := range c.route.pathParams() {
		switch {
		case printable(c.PathValue(name)):
		case name == "name":
			return failf(CodeInvalidName, "The name in the path must be printable UTF-8.")
		default:
			return failf(CodeInvalidPayload, "%s in the path must be printable UTF-8.", name)
		}
	}
	query, err := url.ParseQuery(c.URL.RawQuery)
	if err != nil {
		return failf(CodeInvalidPayload, "The query cannot be read.").because(err)
	}
	for name, values := range query {
		for _, value := range values {
			if !printable(name) || !printable(value) || len(value) > maxParamBytes {
				return failf(CodeInvalidPayload, "The query must be printable UTF-8, and each of its values at most %d bytes.", maxParamBytes)
			}
		}
	}
	if len(query["directory"]) > 1 {
		return failf(CodeInvalidPayload, "directory can be given once.")
	}
	return c.known(query)
}

// known refuses a parameter that a route of ours does not take: one that is mistyped would else change nothing, in silence. The routes that
// other servers have too are as lenient as these.
func (c *call) known(query url.Values) error {
	if c.route.method != http.MethodGet || !strings.HasPrefix(c.route.path, pathAPI+"/") {
		return nil
	}
	var names []string
	for _, p := range c.route.params {
		names = append(names, p.name)
	}
	for name := range query {
		switch {
		case slices.Contains(names, name):
		case len(names) == 0:
			return failf(CodeInvalidPayload, "This route takes no parameters in its query.")
		default:
			return failf(CodeInvalidPayload, "The query has a parameter that is not known. This route takes: %s.", strings.Join(names, ", "))
		}
	}
	return nil
}
