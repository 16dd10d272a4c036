package temporalclient

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"go.temporal.io/sdk/converter"
)

const (
	// MaxCodecBody is the largest request that the codec endpoint reads, in bytes.
	MaxCodecBody = 8 << 20

	// codecSecretBytes is the length of a secret of ours, minCodecSecret that of one that an operator chose, in characters.
	codecSecretBytes = 32
	minCodecSecret   = 16
	corsMethods      = "POST, OPTIONS"
	corsHeaders      = "Authorization, Content-Type, X-Namespace"
	corsMaxAge       = "600"
)

// CodecOptions describe the codec endpoint.
type CodecOptions struct {
	Codec converter.PayloadCodec

	// Origins are the web origins whose pages may call, exactly as a browser sends them: scheme://host[:port].
	Origins []string
	// Hosts are names under which the endpoint may be addressed beside the loopback names, without port.
	Hosts []string

	// PathSecret, made by NewCodecSecret, permits who knows the path /<secret>/encode and /<secret>/decode: the Temporal UI
	// of a development server can send neither cookie nor token.
	PathSecret string
	// BearerToken permits who sends it in the Authorization header to /encode and /decode.
	BearerToken string
}

// String keeps the secrets out of logs.
func (o CodecOptions) String() string {
	return fmt.Sprintf("codec endpoint for origins %v, hosts %v", o.Origins, o.Hosts)
}

// NewCodecSecret returns 32 random bytes in a form that fits a URL path.
func NewCodecSecret() string {
	secret := make([]byte, codecSecretBytes)
	_, _ = rand.Read(secret) // never fails: it would have ended the process
	return base64.RawURLEncoding.EncodeToString(secret)
}

// CodecHandler serves the codec to the Temporal UI and CLI. A request is answered only if it names a permitted host (a name
// rebound to our address by a hostile page does not), comes from a permitted origin or from no browser at all, and carries the
// path secret or the bearer token. Nothing of a payload is logged.
func CodecHandler(o CodecOptions) (http.Handler, error) {
	if o.Codec == nil {
		return nil, errors.New("serve codec: no codec given")
	}
	if o.PathSecret == "" && o.BearerToken == "" {
		return nil, errors.New("serve codec: neither path secret nor bearer token given; anyone could read every payload")
	}
	if o.PathSecret != "" && len(o.PathSecret) < minCodecSecret {
		return nil, fmt.Errorf("serve codec: path secret is shorter than %d characters", minCodecSecret)
	}
	for _, origin := range o.Origins {
		if err := checkOrigin(origin); err != nil {
			return nil, err
		}
	}
	return &codecHandler{
		options: o,
		secret:  sha256.Sum256([]byte(o.PathSecret)),
		token:   sha256.Sum256([]byte(o.BearerToken)),
		codec:   converter.NewPayloadCodecHTTPHandler(o.Codec),
	}, nil
}

// checkOrigin refuses what no browser sends, such as a trailing slash or a wildcard.
func checkOrigin(origin string) error {
	parsed, err := url.Parse(origin)
	if err != nil || parsed.Host == "" || origin != parsed.Scheme+"://"+parsed.Host || strings.Contains(origin, "*") {
		return fmt.Errorf("serve codec: origin %q is not of the form scheme://host[:port]", origin)
	}
	return nil
}

type codecHandler struct {
	options CodecOptions
	secret  [sha256.Size]byte
	token   [sha256.Size]byte
	codec   http.Handler
}

// ServeHTTP answers encode and decode requests, and the preflight requests of browsers.
func (h *codecHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Origin")
	if !h.hostAllowed(r.Host) {
		http.Error(w, "this host name is not served here", http.StatusMisdirectedRequest)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if !slices.Contains(h.options.Origins, origin) {
			http.Error(w, "this origin may not call the codec endpoint", http.StatusForbidden)
			return
		}
		allowOrigin(w.Header(), origin)
	}
	operation, permitted := h.permit(r)
	switch {
	case operation == "":
		http.NotFound(w, r)
	case r.Method == http.MethodOptions:
		// A browser sends no credentials with a preflight request, so it is answered before they are asked for.
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", corsMethods)
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
	case !permitted:
		http.Error(w, "the codec endpoint needs its path secret or a bearer token", http.StatusUnauthorized)
	default:
		h.serveCodec(w, r, operation)
	}
}

// allowOrigin lets pages of an origin that is on the list read the answer.
func allowOrigin(header http.Header, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Allow-Credentials", "true")
	header.Set("Access-Control-Allow-Methods", corsMethods)
	header.Set("Access-Control-Allow-Headers", corsHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
}

// hostAllowed compares the name that the caller used with those that we answer to.
func (h *codecHandler) hostAllowed(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if name == "localhost" || slices.Contains(h.options.Hosts, name) {
		return true
	}
	address := net.ParseIP(name)
	return address != nil && address.IsLoopback()
}

// permit returns the operation that the path names, and whether the caller may use it.
func (h *codecHandler) permit(r *http.Request) (operation string, permitted bool) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	operation = parts[len(parts)-1]
	if operation != "encode" && operation != "decode" {
		return "", false
	}
	switch len(parts) {
	case 1:
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		fits := sameDigest(token, h.token)
		return operation, fits && strings.EqualFold(scheme, "bearer") && h.options.BearerToken != ""
	case 2:
		fits := sameDigest(parts[0], h.secret)
		return operation, fits && h.options.PathSecret != ""
	default:
		return "", false
	}
}

// sameDigest compares in a time that tells nothing of the secret, not even its length.
func sameDigest(candidate string, want [sha256.Size]byte) bool {
	digest := sha256.Sum256([]byte(candidate))
	return subtle.ConstantTimeCompare(digest[:], want[:]) == 1
}

// serveCodec reads the body within its bound and hands it to the SDK's handler.
func (h *codecHandler) serveCodec(w http.ResponseWriter, r *http.Request, operation string) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxCodecBody))
	if err != nil {
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			http.Error(w, "request is larger than 8 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "request body could not be read", http.StatusBadRequest)
		return
	}
	inner := r.Clone(r.Context())
	inner.URL.Path = "/" + operation
	inner.Body = io.NopCloser(bytes.NewReader(body))
	h.codec.ServeHTTP(w, inner)
}
