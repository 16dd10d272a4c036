package httpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

var errNull = errors.New("it is null")

// JSON sends r and decodes the body of a 2xx answer into out. A body that is not one JSON value of out's shape, null
// included, is [KindMalformed]. Values that decode may still be incomplete: see [Malformed].
func (c *Client) JSON(ctx context.Context, r Request, out any) error {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	return Decode(r.Op, resp, out)
}

// Decode reads the body of resp as [Client.JSON] does.
func Decode(op string, resp *Response, out any) error {
	if bytes.Equal(bytes.TrimSpace(resp.Body), []byte("null")) {
		return Malformed(op, resp.Status, errNull)
	}
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return Malformed(op, resp.Status, shapeFault(err))
	}
	return nil
}

// Malformed is the error for an answer whose content is not what op needs. The cause must not quote the content.
func Malformed(op string, status int, cause error) *Error {
	return &Error{Op: op, Kind: KindMalformed, Status: status, Cause: cause}
}

// shapeFault tells where decoding failed without quoting: the decoder's own messages hold pieces of the body.
func shapeFault(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("not valid json at byte %d", syntax.Offset)
	}
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		return fmt.Errorf("unexpected json at byte %d, where %s belongs", kind.Offset, kind.Type)
	}
	return errors.New("not json of the expected shape")
}
