package cli

import (
	"context"
	"errors"
	"net"
	"net/url"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/httpclient"
)

const gatewayTimeout = 2 * time.Second

// examineGateway looks whether the REST API is served. Not to serve it is no fault.
func (s *session) examineGateway(ctx context.Context, found *findings) {
	at := s.gateway()
	client := httpclient.New(httpclient.Options{Timeout: gatewayTimeout})
	defer client.Close()
	_, err := client.Do(ctx, httpclient.Request{Op: "ask the gateway", URL: at})
	if kind := httpclient.KindOf(err); err != nil && kind != httpclient.KindStatus {
		found.info("gateway", "nothing where nobody needs the REST API; else start it: holdfast-gateway", "none serves the REST API at %s", at.Host)
		return
	}
	var fault *httpclient.Error
	if errors.As(err, &fault) {
		found.warn("gateway", "where it is the gateway, read its log; where it is something else, give the gateway another gateway.listen",
			"what serves at %s answers /healthz with http %d", at.Host, fault.Status)
		return
	}
	found.ok("gateway", "serves the REST API at %s", at.Host)
}

// gateway is where the REST API should be: that of a dev that runs on the data folder, else that of the settings.
func (s *session) gateway() *url.URL {
	// A damaged file of dev is told where Temporal is looked for.
	if info, err := readDevInfo(s.settings.DataDir); err == nil && info != nil && info.Gateway != "" {
		if at, err := url.Parse(info.Gateway); err == nil && at.Host != "" {
			return at.JoinPath("healthz")
		}
	}
	return gatewayURL(s.settings.Gateway.Listen)
}

// gatewayURL is where a gateway that listens on an address can be asked from this machine.
func gatewayURL(listen string) *url.URL {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || (ip != nil && ip.IsUnspecified())) {
		host = "127.0.0.1"
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/healthz"}
}
