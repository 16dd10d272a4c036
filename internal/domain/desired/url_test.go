package desired_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

const refused = "" // no URL normalises to nothing

type urlCase struct{ in, want string }

func runURLs(t *testing.T, profile desired.Profile, cases []urlCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.in, func(t *testing.T) {
			t.Parallel()
			got, err := desired.NormaliseURL(profile, tc.in)
			if tc.want == refused {
				var invalid *desired.URLError
				require.ErrorAs(t, err, &invalid)
				require.NotEmpty(t, invalid.Problem)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestCase18OpenWorkURLsHaveOneForm(t *testing.T) {
	t.Parallel()
	const cloud = "https://api.openworklabs.com/mcp/agent"
	runURLs(t, desired.ProfileOpenWork, []urlCase{
		{cloud, cloud},
		{cloud + "/", cloud},
		{cloud + "///", cloud},
		{"HTTPS://API.OpenWorkLabs.com:443/mcp/agent", cloud},
		{"https://app.openworklabs.com/api/den/mcp/agent", "https://api.app.openworklabs.com/mcp/agent"},
		{"https://app.openworklabs.com/api/den/mcp/agent/", "https://api.app.openworklabs.com/mcp/agent"},
		{"https://app.openworklabs.com:8443/api/den/mcp/agent", "https://api.app.openworklabs.com:8443/mcp/agent"},
		{"http://app.openworklabs.com/api/den/mcp/agent", "http://app.openworklabs.com/api/den/mcp/agent"},
		{"https://app.openworklabs.com/mcp/agent", "https://app.openworklabs.com/mcp/agent"},
		{"https://x/foo/mcp/agent", "https://x/foo/mcp/agent"},
		{"https://x/a/../mcp/agent", "https://x/mcp/agent"},
		{"https://x/mcp", refused},
		{"https://x/MCP/AGENT", refused},
		{"https://x/xmcp/agent", refused},
		{"https://x//mcp//agent", refused},
		{"https://x/mcp/agent/connections/y", refused},
		{"https://x/mcp/agent/%20", refused},
		{"https://x/mcp/agent?x=1", refused},
		{"https://x/mcp/agent#f", refused},
		{"https://x/mcp/agent?", "https://x/mcp/agent?"},
		{"https://x/mcp/agent#", "https://x/mcp/agent#"},
		{"ftp://x/mcp/agent", refused},
		{"/mcp/agent", refused},
		{"x/mcp/agent", refused},
		{"https://u:p@x/mcp/agent", refused},
		{"https://u@x/mcp/agent", refused},
		{"https://@x/mcp/agent", refused},
		{"http://127.0.0.1:4801/mcp/agent", "http://127.0.0.1:4801/mcp/agent"},
		{"http://[::1]:9/mcp/agent", "http://[::1]:9/mcp/agent"},
		{" \thttps://x/mcp/agent \n", "https://x/mcp/agent"},
		{"", refused},
	})
}

func TestGenericURLsFollowTheWHATWGStandard(t *testing.T) {
	t.Parallel()
	runURLs(t, desired.ProfileGeneric, []urlCase{
		{"https://x", "https://x/"},
		{"https://x/mcp/", "https://x/mcp/"},
		{"https://x/mcp?key=1&b=%41", "https://x/mcp?key=1&b=%41"},
		{"https://x/mcp?a b\"'<>", "https://x/mcp?a%20b%22%27%3C%3E"},
		{"https://x/mcp#f", refused},
		{"https://u:p@x/mcp", refused},
		{"http:x/mcp", "http://x/mcp"},
		{"http:////x/mcp", "http://x/mcp"},
		{`https:\\x\a\..\mcp`, "https://x/mcp"},
		{"ht\ntps://x/m\tcp", "https://x/mcp"},
		{"https://x/a/./b/%2e%2E/c/.", "https://x/a/c/"},
		{"https://x/../..", "https://x/"},
		{"https://x//a//", "https://x//a//"},
		{"https://x/é {}`^|", "https://x/%C3%A9%20%7B%7D%60%5E|"},
		{"https://x/\xff", "https://x/%EF%BF%BD"},
		{"http://x:80/", "http://x/"},
		{"http://x:443/", "http://x:443/"},
		{"https://x:/", "https://x/"},
		{"https://x:0080/", "https://x:80/"},
		{"https://x:65536/", refused},
		{"https://x:-1/", refused},
		{"https://x:a/", refused},
		{"https:///", refused},
		{"https://:443/", refused},
	})
}

func TestHostsHaveOneForm(t *testing.T) {
	t.Parallel()
	runURLs(t, desired.ProfileGeneric, []urlCase{
		{"http://BÜCHER.example/", "http://xn--bcher-kva.example/"},
		{"http://bu\u0308cher.example/", "http://xn--bcher-kva.example/"},
		{"http://faß.example/", "http://xn--fa-hia.example/"},
		{"http://ｅｘａｍｐｌｅ。com/", "http://example.com/"},
		{"http://ex%41mple.com/", "http://example.com/"},
		{"http://XN--BCHER-KVA.example/", "http://xn--bcher-kva.example/"},
		{"http://xn--/", refused},
		{"http://xn--a\u00e9/", refused},
		{"http://xn--ab-/", refused},
		{"http://\u00ad/", refused},
		{"http://a_b-.example./", "http://a_b-.example./"},
		{"http://a b/", refused},
		{"http://a%2Fb/", refused},
		{"http://a%/", refused},
		{"http://a%zz/", refused},
		{"http://a<b/", refused},
		{"http://a\x7fb/", refused},
		{"http://127.1/", "http://127.0.0.1/"},
		{"http://0x7f.0.0.1/", "http://127.0.0.1/"},
		{"http://0X7F000001/", "http://127.0.0.1/"},
		{"http://017700000001/", "http://127.0.0.1/"},
		{"http://2130706433/", "http://127.0.0.1/"},
		{"http://１２７.0.0.1/", "http://127.0.0.1/"},
		{"http://127.0.0.1./", "http://127.0.0.1/"},
		{"http://0x.0x.0/", "http://0.0.0.0/"},
		{"http://1.2.3.256/", refused},
		{"http://1.2.65536/", refused},
		{"http://4294967296/", refused},
		{"http://0xfffffffffffffffff/", refused},
		{"http://1.2.3.4.5/", refused},
		{"http://1..2/", refused},
		{"http://a.09/", refused},
		{"http://1.2.3.a/", "http://1.2.3.a/"},
		{"http://0xg/", "http://0xg/"},
		{"http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/"},
		{"http://[::]/", "http://[::]/"},
		{"http://[1::]/", "http://[1::]/"},
		{"http://[0:1:0:1:0:1:0:1]/", "http://[0:1:0:1:0:1:0:1]/"},
		{"http://[::FFFF:1.2.3.4]:80/", "http://[::ffff:102:304]/"},
		{"http://[::1%25eth0]/", refused},
		{"http://[1.2.3.4]/", refused},
		{"http://[::1/", refused},
		{"http://[::1]x/", refused},
		{"http://[::1]]/", refused},
	})
}

func TestEndpointsAreTrustedByTheirOrigin(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		url     string
		trusted bool
	}{
		{"https://api.openworklabs.com/mcp/agent", true},
		{"https://api.app.openworklabs.com/mcp/agent", true},
		{"https://app.openworklabs.com/api/den/mcp/agent", true},
		{"https://app.openworklabs.com/mcp/agent", false},
		{"https://api.openworklabs.com:8443/mcp/agent", false},
		{"http://api.openworklabs.com/mcp/agent", false},
		{"http://localhost:1/mcp", true},
		{"https://127.0.0.1/mcp/agent", true},
		{"http://127.1/mcp/agent", true},
		{"http://[::1]:9/mcp/agent", true},
		{"http://127.0.0.2/mcp/agent", false},
		{"https://localhost.example.com/mcp/agent", false},
		{"https://example.com/mcp", false},
		{"https://example.com/mcp?x=1", false},
		{"not a url", true},
		{"https://u:p@example.com/mcp", true},
	} {
		t.Run(tc.url, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.trusted, desired.TrustedEndpoint(tc.url))
		})
	}
}

func TestURLErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const secret = "Qz7planted0secret9Q"
		prefix := rapid.SampledFrom([]string{"ftp://", "https://u:", "https://x/mcp?a=", "https://x:", "https://%", "https://x#", ""}).Draw(t, "prefix")
		suffix := rapid.SampledFrom([]string{"", "@x/mcp/agent", "/mcp/agent", ":x"}).Draw(t, "suffix")
		_, err := desired.NormaliseURL(desired.ProfileOpenWork, prefix+secret+suffix)
		if err != nil {
			require.NotContains(t, err.Error(), secret)
		}
	})
}

// urlParts are pieces that parsers of URLs disagree about.
var urlParts = []string{
	"https:", "http:", "HTTPS:", "/", "//", `\`, "?", "#", ":", ":443", ":80", ":8443", "@", "x", "EXAMPLE.com", "[::1]", "[::ffff:1.2.3.4]",
	"127.1", "0x7f", "017", "256", ".", "..", "%2e", "%2E%2e", "%41", "%", "é", "ß", "xn--", "xn--bcher-kva", "\u3002", "\u00ad", "\u200d",
	"א", "１", "\t", "\n", " ", "\xff", "\x00", "mcp", "agent", "/mcp/agent", "app.openworklabs.com", "/api/den", "|", "^", "'", "\"",
}

func TestNormalURLsAreFixedPoints(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raw := "https://"
		for _, part := range rapid.SliceOfN(rapid.SampledFrom(urlParts), 0, 12).Draw(t, "parts") {
			raw += part
		}
		requireFixedPoint(t, raw)
	})
}

func FuzzNormaliseURL(f *testing.F) {
	for _, part := range urlParts {
		f.Add("https://" + part + "/mcp/agent")
		f.Add("https://x/" + part + "/mcp/agent" + part)
	}
	f.Add("https://app.openworklabs.com/api/den/mcp/agent///")
	f.Add("http:\u049a" + strings.Repeat("`", 1200) + "0") // its Punycode cannot be decoded
	f.Fuzz(func(t *testing.T, raw string) {
		requireFixedPoint(t, raw)
		desired.TrustedEndpoint(raw)
	})
}

func requireFixedPoint(t require.TestingT, raw string) {
	for _, profile := range []desired.Profile{desired.ProfileOpenWork, desired.ProfileGeneric} {
		once, err := desired.NormaliseURL(profile, raw)
		if err != nil {
			var invalid *desired.URLError
			require.ErrorAs(t, err, &invalid)
			continue
		}
		twice, err := desired.NormaliseURL(profile, once)
		require.NoError(t, err, "%q became %q", raw, once)
		require.Equal(t, once, twice)
	}
}
