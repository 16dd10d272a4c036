package httpclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

func TestBodyOfAnotherShapeIsMalformedAndNeverQuoted(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"html":            "<!doctype html><title>hidden</title>",
		"empty":           "",
		"null":            " null ",
		"list":            `["hidden"]`,
		"other values":    `{"hidden":1234567}`,
		"two values":      `{} {}`,
		"broken":          `{"a":"hidden`,
		"not utf8 at all": "\xff\xfe",
	}
	for name, body := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = fmt.Fprint(w, body)
			}))
			t.Cleanup(server.Close)
			client := newClient(t, httpclient.Options{})

			var out map[string]string
			err := client.JSON(t.Context(), httpclient.Request{Op: "read it", URL: parse(t, server.URL)}, &out)

			require.Equal(t, httpclient.KindMalformed, httpclient.KindOf(err))
			require.NotContains(t, err.Error(), "hidden")
			require.NotContains(t, err.Error(), "1234567")
		})
	}
}

func TestDecodeErrorsNeverHoldTheBody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`canary[A-Z]{8}`).Draw(t, "secret")
		shape := rapid.SampledFrom([]string{`%s`, `"%s"`, `{"%s":1}`, `{"a":%s}`, `[{"b":"%s"}]`, `{"a":"x"}%s`}).Draw(t, "shape")
		body := fmt.Sprintf(shape, secret)
		var out map[string]string
		err := httpclient.Decode("read it", &httpclient.Response{Status: 200, Body: []byte(body)}, &out)
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Fatalf("the error quotes the body: %v", err)
		}
	})
}

func TestJSONDecodesAGoodAnswer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Test") == "yes" {
			_, _ = fmt.Fprint(w, `{"got":"yes"}`)
		}
	}))
	t.Cleanup(server.Close)
	client := newClient(t, httpclient.Options{})

	var out map[string]string
	err := client.JSON(t.Context(), httpclient.Request{
		Op: "read it", URL: parse(t, server.URL), Header: http.Header{"X-Test": {"yes"}},
	}, &out)

	require.NoError(t, err)
	require.Equal(t, map[string]string{"got": "yes"}, out)
}
