package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

const (
	// keysFresh is how long keys are used without asking for new ones: a key that the provider has withdrawn is refused after it.
	keysFresh = 10 * time.Minute
	// keysUsable is how long keys are used while the provider cannot be asked.
	keysUsable = 24 * time.Hour
	// askEvery bounds how often the provider is asked, whatever tokens are shown.
	askEvery = 5 * time.Second
	// maxDocument is far above any discovery document or key set, in bytes.
	maxDocument = 1 << 20
)

// endpoints is what the discovery document says.
type endpoints struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Keys          string   `json:"jwks_uri"`
	Styles        []string `json:"token_endpoint_auth_methods_supported"`
	// TellsIssuer says that each answer of the authorization endpoint names its issuer (RFC 9207).
	TellsIssuer bool `json:"authorization_response_iss_parameter_supported"`
}

// discovery keeps what the provider has published, and asks again when it must, at most once at a time and at most every askEvery.
type discovery struct {
	issuer string
	client *httpclient.Client
	now    func() time.Time

	life    context.Context //nolint:containedctx // requests outlive the callers who wait for them
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	told    endpoints
	found   []jose.JSONWebKey
	got     time.Time // of the last success; zero: never
	asked   time.Time // of the last try
	failure error     // of the last try
	flight  chan struct{}
}

func newDiscovery(issuer string, client *httpclient.Client, now func() time.Time) *discovery {
	d := &discovery{issuer: issuer, client: client, now: now}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

func (d *discovery) close() {
	d.end()
	d.running.Wait()
}

// endpoints are those of the provider, as it told them within keysUsable.
func (d *discovery) endpoints(ctx context.Context) (endpoints, error) {
	err := d.ask(ctx, func() bool { return true })
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.told, err
}

// keys are those of an id, or all where a token names none. None without an error means that the provider has no such key.
func (d *discovery) keys(ctx context.Context, id string) (keySet, error) {
	var found keySet
	err := d.ask(ctx, func() bool {
		found = nil
		for _, key := range d.found {
			if id == "" || key.KeyID == "" || key.KeyID == id {
				found = append(found, key)
			}
		}
		return len(found) > 0
	})
	return found, err
}

// ask makes sure that what is known is fresh, or as good as can be had. The condition, evaluated under the lock, says whether what is
// known serves the caller.
func (d *discovery) ask(ctx context.Context, serves func() bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	usable := !d.got.IsZero() && now.Sub(d.got) < keysUsable && serves()
	if usable && now.Sub(d.got) < keysFresh {
		return nil
	}
	if d.flight == nil && (d.asked.IsZero() || now.Sub(d.asked) >= askEvery) {
		d.start(now)
	}
	if usable { // the answer serves those who come after
		return nil
	}
	if flight := d.flight; flight != nil {
		d.mu.Unlock()
		select {
		case <-flight:
		case <-ctx.Done():
		}
		d.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	serves()
	return d.failure
}

// start asks beside the callers. It is called under the lock.
func (d *discovery) start(now time.Time) {
	flight := make(chan struct{})
	d.flight, d.asked = flight, now
	d.running.Go(func() {
		told, found, err := d.fetch(d.life)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.failure = err
		if err == nil {
			d.told, d.found, d.got = told, found, d.now()
		}
		d.flight = nil
		close(flight)
	})
}

func (d *discovery) fetch(ctx context.Context) (endpoints, []jose.JSONWebKey, error) {
	var told endpoints
	if err := d.get(ctx, "discover identity provider", strings.TrimSuffix(d.issuer, "/")+"/.well-known/openid-configuration", &told); err != nil {
		return told, nil, err
	}
	if told.Issuer != d.issuer {
		return told, nil, errors.New("discover identity provider: it calls itself by another name than oidc.issuer")
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := d.get(ctx, "read keys of identity provider", told.Keys, &set); err != nil {
		return told, nil, err
	}
	var found []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		// A kind of key that is not known here is none of ours; nor is one for encryption, or a secret one.
		if json.Unmarshal(raw, &key) == nil && key.Valid() && key.IsPublic() && key.Use != "enc" {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		return told, nil, errors.New("read keys of identity provider: there is none that can be used")
	}
	return told, found, nil
}

func (d *discovery) get(ctx context.Context, op, address string, out any) error {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return fmt.Errorf("%s: the address is none", op)
	}
	if strings.HasPrefix(d.issuer, "https://") && at.Scheme != "https" {
		return fmt.Errorf("%s: the address is not https, as the issuer is", op)
	}
	return d.client.JSON(ctx, httpclient.Request{Op: op, URL: at}, out)
}
