package auth

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/origin"
)

const (
	metadataPath = "/.well-known/oauth-protected-resource"
	// metadataAge is how long a client may keep the metadata, in seconds.
	metadataAge = "300"
)

// Resources are the paths of protected resources that have metadata of their own (RFC 9728); the empty one is the gateway's own.
func Resources() []string { return []string{"", "/mcp", "/mcp/agent"} }

// Metadata serves what the gateway tells OAuth clients about its resources.
type Metadata struct {
	names  origin.Policy
	issuer string
	scopes []string
}

// NewMetadata makes it. An empty issuer says that there is no authorization server: tokens are made by holdfast token create.
func NewMetadata(names origin.Policy, issuer string, scopes []string) *Metadata {
	// A client must not ask for offline access because a resource names it.
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == "offline_access" })
	return &Metadata{names: names, issuer: issuer, scopes: scopes}
}

// URL is where the metadata of the resource is that a request asked for.
func (m *Metadata) URL(r *http.Request) string {
	base := m.names.Base(r) + metadataPath
	if path := strings.TrimSuffix(r.URL.Path, "/"); path != "" && slices.Contains(Resources(), path) {
		return base + path
	}
	return base
}

// Scopes are what a client should ask for.
func (m *Metadata) Scopes() []string { return m.scopes }

// Challenge is [Challenge] for a request.
func (m *Metadata) Challenge(r *http.Request, err error) string {
	return Challenge(err, m.URL(r), m.scopes)
}

// Routes are the paths that the handler serves.
func (m *Metadata) Routes() []string {
	var paths []string
	for _, resource := range Resources() {
		paths = append(paths, metadataPath+resource)
	}
	return paths
}

// document is RFC 9728's.
type document struct {
	Resource             string   `json:"resource"`
	Name                 string   `json:"resource_name"`
	AuthorizationServers []string `json:"authorization_servers"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	Scopes               []string `json:"scopes_supported,omitempty"`
}

// ServeHTTP answers for every one of [Metadata.Routes]. What it says is public: any page may read it.
func (m *Metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("X-Content-Type-Options", "nosniff")
	resource, ours := strings.CutPrefix(r.URL.Path, metadataPath)
	switch {
	case !ours || !slices.Contains(Resources(), resource) || !m.names.Host(r.Host):
		http.NotFound(w, r)
		return
	case r.Method == http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET")
		h.Set("Access-Control-Allow-Headers", "*")
		h.Set("Access-Control-Max-Age", metadataAge)
		w.WriteHeader(http.StatusNoContent)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "ask by GET", http.StatusMethodNotAllowed)
		return
	}
	servers := []string{}
	if m.issuer != "" {
		servers = append(servers, m.issuer)
	}
	raw, err := json.Marshal(document{
		Resource: m.names.Base(r) + resource, Name: "Holdfast", AuthorizationServers: servers,
		BearerMethods: []string{"header"}, Scopes: m.scopes,
	})
	if err != nil {
		http.Error(w, "the metadata cannot be written", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "public, max-age="+metadataAge)
	_, _ = w.Write(raw) // the caller may have gone
}
