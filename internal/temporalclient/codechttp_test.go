package temporalclient_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/holdfast-mcp/holdfast/internal/temporalclient"
)

const (
	uiOrigin    = "http://localhost:8233"
	codecToken  = "a-bearer-token-for-the-codec"
	codecHost   = "localhost:8082"
	codecSecret = "0123456789012345678901234567890123456789012"
)

// codecCall is one request to the endpoint; the zero values are those of the UI of a development server.
type codecCall struct {
	method, path, host, origin, auth string
	body                             []byte
}

func newCodecHandler(t *testing.T) (http.Handler, []byte) {
	t.Helper()
	codec := temporalclient.NewCodec(newAEAD(t))
	handler, err := temporalclient.CodecHandler(temporalclient.CodecOptions{
		Codec: codec, Origins: []string{uiOrigin}, Hosts: []string{"codec.internal"}, PathSecret: codecSecret, BearerToken: codecToken,
	})
	require.NoError(t, err)
	sealed, err := codec.Encode([]*commonpb.Payload{{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte(`"hello"`),
	}})
	require.NoError(t, err)
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: sealed})
	require.NoError(t, err)
	return handler, body
}

func (c codecCall) send(t *testing.T, handler http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	method := c.method
	if method == "" {
		method = http.MethodPost
	}
	request := httptest.NewRequestWithContext(t.Context(), method, "http://"+codecHost+c.path, bytes.NewReader(c.body))
	if c.host != "" {
		request.Host = c.host
	}
	if c.origin != "" {
		request.Header.Set("Origin", c.origin)
	}
	if c.auth != "" {
		request.Header.Set("Authorization", c.auth)
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

func TestCodecEndpointDecodesForAPermittedCaller(t *testing.T) {
	t.Parallel()
	handler, sealed := newCodecHandler(t)
	for name, tc := range map[string]codecCall{
		"path secret from the UI":   {path: "/" + codecSecret + "/decode", origin: uiOrigin},
		"path secret from the CLI":  {path: "/" + codecSecret + "/decode"},
		"bearer token from the UI":  {path: "/decode", origin: uiOrigin, auth: "Bearer " + codecToken},
		"bearer token from the CLI": {path: "/decode", auth: "bearer " + codecToken},
		"IPv4 loopback":             {path: "/" + codecSecret + "/decode", host: "127.0.0.1:8082"},
		"IPv6 loopback":             {path: "/" + codecSecret + "/decode", host: "[::1]:8082"},
		"configured host":           {path: "/" + codecSecret + "/decode", host: "codec.internal:8082"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.body = sealed
			answer := tc.send(t, handler)
			require.Equal(t, http.StatusOK, answer.Code, answer.Body.String())
			var opened commonpb.Payloads
			require.NoError(t, protojson.Unmarshal(answer.Body.Bytes(), &opened))
			require.JSONEq(t, `"hello"`, string(opened.GetPayloads()[0].GetData()))
			require.Equal(t, tc.origin, answer.Header().Get("Access-Control-Allow-Origin"))
			require.Equal(t, "no-store", answer.Header().Get("Cache-Control"))
		})
	}
}

func TestCodecEndpointRefusesEveryoneElse(t *testing.T) {
	t.Parallel()
	handler, sealed := newCodecHandler(t)
	for name, tc := range map[string]struct {
		call codecCall
		want int
	}{
		"other origin":                {codecCall{path: "/" + codecSecret + "/decode", origin: "https://evil.test"}, http.StatusForbidden},
		"origin of a sandboxed frame": {codecCall{path: "/" + codecSecret + "/decode", origin: "null"}, http.StatusForbidden},
		"origin with another port":    {codecCall{path: "/" + codecSecret + "/decode", origin: "http://localhost:1"}, http.StatusForbidden},
		"origin as a prefix":          {codecCall{path: "/" + codecSecret + "/decode", origin: uiOrigin + ".evil.test"}, http.StatusForbidden},
		"rebound name":                {codecCall{path: "/" + codecSecret + "/decode", host: "evil.test:8082"}, http.StatusMisdirectedRequest},
		"rebound name, same origin":   {codecCall{path: "/decode", host: "evil.test", origin: "http://evil.test", auth: "Bearer " + codecToken}, http.StatusMisdirectedRequest},
		"name that begins like ours":  {codecCall{path: "/" + codecSecret + "/decode", host: "localhost.evil.test"}, http.StatusMisdirectedRequest},
		"address of the network":      {codecCall{path: "/" + codecSecret + "/decode", host: "192.0.2.1:8082"}, http.StatusMisdirectedRequest},
		"no secret":                   {codecCall{path: "/decode"}, http.StatusUnauthorized},
		"wrong secret":                {codecCall{path: "/" + strings.Repeat("x", len(codecSecret)) + "/decode"}, http.StatusUnauthorized},
		"half the secret":             {codecCall{path: "/" + codecSecret[:20] + "/decode"}, http.StatusUnauthorized},
		"empty secret":                {codecCall{path: "//decode"}, http.StatusUnauthorized},
		"wrong token":                 {codecCall{path: "/decode", auth: "Bearer wrong"}, http.StatusUnauthorized},
		"token of another scheme":     {codecCall{path: "/decode", auth: "Basic " + codecToken}, http.StatusUnauthorized},
		"encode needs it too":         {codecCall{path: "/encode"}, http.StatusUnauthorized},
		"unknown operation":           {codecCall{path: "/" + codecSecret + "/keys"}, http.StatusNotFound},
		"secret alone":                {codecCall{path: "/" + codecSecret}, http.StatusNotFound},
		"deeper path":                 {codecCall{path: "/x/" + codecSecret + "/decode"}, http.StatusNotFound},
		"other method":                {codecCall{path: "/" + codecSecret + "/decode", method: http.MethodGet}, http.StatusMethodNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.call.body = sealed
			answer := tc.call.send(t, handler)
			require.Equal(t, tc.want, answer.Code)
			require.NotContains(t, answer.Body.String(), "hello")
		})
	}
}

func TestCodecEndpointAnswersPreflightOfItsOriginsOnly(t *testing.T) {
	t.Parallel()
	handler, _ := newCodecHandler(t)

	allowed := codecCall{method: http.MethodOptions, path: "/" + codecSecret + "/decode", origin: uiOrigin}.send(t, handler)
	require.Equal(t, http.StatusNoContent, allowed.Code)
	require.Equal(t, uiOrigin, allowed.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, "Authorization, Content-Type, X-Namespace", allowed.Header().Get("Access-Control-Allow-Headers"))
	require.Equal(t, "Origin", allowed.Header().Get("Vary"))

	refused := codecCall{method: http.MethodOptions, path: "/decode", origin: "https://evil.test"}.send(t, handler)
	require.Equal(t, http.StatusForbidden, refused.Code)
	require.Empty(t, refused.Header().Get("Access-Control-Allow-Origin"))
}

func TestCodecEndpointBoundsTheBody(t *testing.T) {
	t.Parallel()
	handler, _ := newCodecHandler(t)
	call := codecCall{path: "/" + codecSecret + "/encode", body: bytes.Repeat([]byte("x"), temporalclient.MaxCodecBody+1)}
	require.Equal(t, http.StatusRequestEntityTooLarge, call.send(t, handler).Code)
}

func TestCodecEndpointNeedsASecretAndExactOrigins(t *testing.T) {
	t.Parallel()
	codec := temporalclient.NewCodec(newAEAD(t))
	for name, tc := range map[string]temporalclient.CodecOptions{
		"no codec":         {PathSecret: codecSecret},
		"no secret":        {Codec: codec},
		"short secret":     {Codec: codec, PathSecret: "short"},
		"wildcard origin":  {Codec: codec, PathSecret: codecSecret, Origins: []string{"*"}},
		"trailing slash":   {Codec: codec, PathSecret: codecSecret, Origins: []string{uiOrigin + "/"}},
		"origin of no web": {Codec: codec, PathSecret: codecSecret, Origins: []string{"localhost:8233"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := temporalclient.CodecHandler(tc)
			require.Error(t, err)
		})
	}
}

func TestCodecSecretsAreLongAndDiffer(t *testing.T) {
	t.Parallel()
	first, second := temporalclient.NewCodecSecret(), temporalclient.NewCodecSecret()
	require.Len(t, first, 43)
	require.NotEqual(t, first, second)
	require.NotContains(t, temporalclient.CodecOptions{PathSecret: first, BearerToken: second}.String(), first)
}
