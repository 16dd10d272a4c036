package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

// call is one request on its way through a handler.
type call struct {
	*http.Request

	route     *route
	principal auth.Principal
	query     url.Values
	body      []byte
	memory    memory // of a request that is noted
}

// reply is an answer.
type reply struct {
	status int
	body   any
	header http.Header
}

func ok(body any) (*reply, error) { return &reply{status: http.StatusOK, body: body}, nil }

// path is a part of the path, without blanks around it.
func (c *call) path(name string) string { return strings.TrimSpace(c.PathValue(name)) }

// readBody reads the whole body; the limit was set before.
func (c *call) readBody() error {
	raw, err := io.ReadAll(c.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fail(CodeTooLarge)
	case err != nil:
		return failf(CodeInvalidPayload, "The body did not arrive whole.").because(err)
	}
	c.body = bytes.TrimSpace(raw)
	return nil
}

// object checks that the body is a JSON object; nothing counts as an empty one where the body may be left out.
func (c *call) object() (json.RawMessage, error) {
	if len(c.body) == 0 {
		if c.route.body.optional {
			return json.RawMessage(`{}`), nil
		}
		return nil, failf(CodeInvalidJSON, "A body is needed: a JSON object.")
	}
	if !json.Valid(c.body) {
		return nil, fail(CodeInvalidJSON)
	}
	if c.body[0] != '{' {
		return nil, failf(CodeInvalidPayload, "The body must be a JSON object.")
	}
	return c.body, nil
}

// decode reads the body into a value. A member is given by its exact name, and once. Members that are not known are refused where strict
// is asked for: a mistyped one would else be ignored in silence.
func (c *call) decode(into any, strict bool) error {
	raw, err := c.object()
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if strict {
		decoder.DisallowUnknownFields()
	}
	if err := decoder.Decode(into); err != nil {
		return failf(CodeInvalidPayload, "%s", payloadProblem(err, into)).because(err)
	}
	return exact(raw, into)
}

// payloadProblem names the member, never its value.
func payloadProblem(err error, into any) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return wrong.Field + " is of the wrong type."
	}
	if name, unknown := unknownMember(err); unknown {
		names, _ := ownMembers(reflect.TypeOf(into))
		return notKnown("The body", name, names)
	}
	return "The body is not as this route takes it: see /openapi.json."
}

// maxMember bounds what is said of a member's name, in characters.
const maxMember = 64

// unknownMember is the name, in quotes, that the decoder complains of: it has no type of error for it.
func unknownMember(err error) (string, bool) {
	_, quoted, found := strings.Cut(err.Error(), "unknown field ")
	if !found {
		return "", false
	}
	name, bad := strconv.Unquote(quoted)
	if bad != nil {
		name = quoted
	}
	return legible(name), true
}

// legible is a member's name in quotes, without what is not printable.
func legible(name string) string {
	plain := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name))
	return strconv.Quote(string(plain[:min(len(plain), maxMember)]))
}
