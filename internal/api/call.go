package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

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

// decode reads the body into a value. Members that are not known are refused where strict is asked for: a mistyped one would
// else be ignored in silence.
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
		return failf(CodeInvalidPayload, "%s", payloadProblem(err)).because(err)
	}
	return nil
}

// payloadProblem names the member, never its value.
func payloadProblem(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return wrong.Field + " is of the wrong type."
	case strings.Contains(err.Error(), "unknown field"):
		return "The body has a member that is not known: see /openapi.json."
	default:
		return "The body is not as this route takes it: see /openapi.json."
	}
}
