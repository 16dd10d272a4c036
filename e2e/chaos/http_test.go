package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"
)

const (
	requestLimit = 20 * time.Second
	answerLimit  = 4 << 20
)

// anyGateway sends each request to a gateway by chance, so that no client can rely on one: those that serve a session have mostly not
// made it.
type anyGateway struct {
	urls  []string
	token string // empty: a browser, which has a cookie
	base  *http.Transport

	mu     sync.Mutex
	random *rand.Rand
}

func (a *anyGateway) pick() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return pick(a.random, a.urls...)
}

func (a *anyGateway) RoundTrip(r *http.Request) (*http.Response, error) {
	at, err := url.Parse(a.pick())
	if err != nil {
		return nil, err
	}
	sent := r.Clone(r.Context())
	sent.URL.Scheme, sent.URL.Host, sent.Host = at.Scheme, at.Host, ""
	if a.token != "" {
		sent.Header.Set("Authorization", "Bearer "+a.token)
	} else if sent.Method == http.MethodPost {
		sent.Header.Set("Origin", at.Scheme+"://"+at.Host)
	}
	return a.base.RoundTrip(sent)
}

// anywhere is the host of requests that go to any gateway.
const anywhere = "http://gateway.invalid"

// reply is an answer, read whole.
type reply struct {
	status   int
	location string
	body     []byte
}

// exchange makes a request and reads its answer. A body is sent by POST; nil is a GET.
func exchange(ctx context.Context, client *http.Client, path string, body []byte, kind string) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body != nil {
		request.Header.Set("Content-Type", kind)
	}
	response, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	return reply{response.StatusCode, response.Header.Get("Location"), read}, err
}

// read gets a document of the API.
func read(ctx context.Context, client *http.Client, path string, into any) error {
	got, err := exchange(ctx, client, anywhere+path, nil, "")
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("%s is answered with %d: %s", path, got.status, got.body)
	}
	return json.Unmarshal(got.body, into)
}

func answers(ctx context.Context, at string) bool {
	got, err := exchange(ctx, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, at, nil, "")
	return err == nil && got.status == http.StatusOK
}

// wait reports false when the context ends before.
func wait(ctx context.Context, span time.Duration) bool {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
