package httpclient_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// issue makes a certificate for 127.0.0.1, signed by parent or, without one, by itself.
func issue(t *testing.T, change func(*x509.Certificate), parent *authority) (tls.Certificate, authority) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "test " + serial.String()},
		NotBefore:             time.Now().Add(-2 * time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true,
		IsCA:                  parent == nil,
	}
	change(template)
	signer := &authority{certificate: template, key: key}
	if parent != nil {
		signer = parent
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, signer.certificate, &key.PublicKey, signer.key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, authority{certificate: parsed, key: key}
}

func serveTLS(t *testing.T, certificate tls.Certificate) *url.URL {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return parse(t, server.URL)
}

func TestCertificateFaultsHaveTheirOwnCodes(t *testing.T) {
	t.Parallel()
	unchanged := func(*x509.Certificate) {}
	single, _ := issue(t, unchanged, nil)
	rootTLS, root := issue(t, unchanged, nil)
	leaf, _ := issue(t, unchanged, &root)
	chain := tls.Certificate{Certificate: [][]byte{leaf.Certificate[0], rootTLS.Certificate[0]}, PrivateKey: leaf.PrivateKey}
	expired, _ := issue(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }, &root)
	early, _ := issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, &root)
	other, _ := issue(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 9)} }, &root)
	trusted := x509.NewCertPool()
	trusted.AddCert(root.certificate)

	tests := map[string]struct {
		certificate tls.Certificate
		roots       *x509.CertPool
		code        string
	}{
		"one self-signed":      {single, nil, "DEPTH_ZERO_SELF_SIGNED_CERT"},
		"self-signed in chain": {chain, nil, "SELF_SIGNED_CERT_IN_CHAIN"},
		"unknown issuer":       {leaf, nil, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"},
		"expired":              {expired, trusted, "CERT_HAS_EXPIRED"},
		"not yet valid":        {early, trusted, "CERT_NOT_YET_VALID"},
		"other host":           {other, trusted, "ERR_TLS_CERT_ALTNAME_INVALID"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, httpclient.Options{RootCAs: tc.roots})

			_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: serveTLS(t, tc.certificate), Repeatable: true})

			require.Equal(t, httpclient.KindUnreachable, httpclient.KindOf(err))
			require.Equal(t, tc.code, httpclient.Chain(err)[0].Code)
		})
	}

	t.Run("trusted", func(t *testing.T) {
		t.Parallel()
		client := newClient(t, httpclient.Options{RootCAs: trusted})
		_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: serveTLS(t, leaf)})
		require.Equal(t, httpclient.KindStatus, httpclient.KindOf(err))
	})
}

func TestPlainServerBehindHTTPSIsToldApart(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	u := parse(t, server.URL)
	u.Scheme = "https"
	client := newClient(t, httpclient.Options{})

	_, err := client.Do(t.Context(), httpclient.Request{Op: "do it", URL: u})

	require.Equal(t, httpclient.KindUnreachable, httpclient.KindOf(err))
}

func TestChainTellsAtMostFiveLevelsWithoutSecrets(t *testing.T) {
	t.Parallel()
	err := error(&url.Error{Op: "Get", URL: "https://host/mcp?key=tell-nobody", Err: io.EOF})
	for range 8 {
		err = fmt.Errorf("while going to https://host/mcp?key=tell-nobody#there: %w", err)
	}

	links := httpclient.Chain(err)

	require.Len(t, links, 5)
	raw, err := json.Marshal(links)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "tell-nobody")
	require.Contains(t, links[0].Message, "https://host/mcp")
	require.Equal(t, "ECONNRESET", links[0].Code)
}

func TestChainFollowsTheFirstOfJoinedErrors(t *testing.T) {
	t.Parallel()
	err := errors.Join(
		fmt.Errorf("outer: %w", &net.DNSError{Err: "no such host", Name: "nowhere", IsNotFound: true}),
		context.Canceled,
	)
	links := httpclient.Chain(err)
	require.Len(t, links, 3)
	require.Equal(t, "net.DNSError", links[2].Name)
	require.Equal(t, "ENOTFOUND", links[2].Code)
	require.Empty(t, httpclient.Chain(nil))
}

func TestChainOfABareStatusIsTheErrorItself(t *testing.T) {
	t.Parallel()
	links := httpclient.Chain(&httpclient.Error{Op: "do it", Kind: httpclient.KindStatus, Status: 503})
	require.Len(t, links, 1)
	require.Equal(t, "do it: server answered http 503", links[0].Message)
}

func TestCodesFollowNodeNames(t *testing.T) {
	t.Parallel()
	tests := map[string]error{
		"EAI_AGAIN": &net.DNSError{Err: "server misbehaving", IsTemporary: true},
		"ETIMEDOUT": context.DeadlineExceeded,
		"ABORT_ERR": context.Canceled,
		"":          errors.New("something else"),
	}
	for code, err := range tests {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, code, httpclient.Chain(err)[0].Code)
		})
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	message := httpclient.Chain(errors.New(strings.Repeat("ü", 1000)))[0].Message
	require.True(t, utf8.ValidString(message))
	require.Less(t, len(message), 600)
	require.True(t, strings.HasSuffix(message, "…"))
}
