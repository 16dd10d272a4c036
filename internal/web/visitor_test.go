package web_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// visitor is a browser without scripts.
type visitor struct {
	r      *rig
	client *http.Client
}

type seenPage struct {
	status int
	header http.Header
	body   string
}

func (r *rig) visitor() *visitor {
	r.t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(r.t, err)
	return &visitor{r: r, client: &http.Client{
		Jar: jar, Timeout: 2 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// as is a visitor who has logged in by the identity provider.
func (r *rig) as(user string) *visitor {
	r.t.Helper()
	v := r.visitor()
	at := v.get("/login/oidc?return=%2F").header.Get("Location")
	at = v.get(at + "&user=" + user).header.Get("Location")
	require.Equal(r.t, http.StatusSeeOther, v.get(at).status)
	return v
}

func (v *visitor) do(method, path string, form url.Values, header map[string]string) seenPage {
	v.r.t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = v.r.server.URL + path
	}
	req, err := http.NewRequestWithContext(v.r.t.Context(), method, path, strings.NewReader(form.Encode()))
	require.NoError(v.r.t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", v.r.server.URL)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	res, err := v.client.Do(req)
	require.NoError(v.r.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(v.r.t, err)
	return seenPage{res.StatusCode, res.Header, string(body)}
}

func (v *visitor) get(path string) seenPage {
	v.r.t.Helper()
	return v.do(http.MethodGet, path, nil, nil)
}

var guardPattern = regexp.MustCompile(`name="guard" value="([^"]+)"`)

func (v *visitor) guard() string {
	v.r.t.Helper()
	found := guardPattern.FindStringSubmatch(v.get("/").body)
	require.NotNil(v.r.t, found)
	return found[1]
}

// post sends a form of a page, with the page's secret.
func (v *visitor) post(path string, pairs ...string) seenPage {
	v.r.t.Helper()
	form := url.Values{"guard": {v.guard()}}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return v.do(http.MethodPost, path, form, nil)
}
