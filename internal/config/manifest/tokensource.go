package manifest

import (
	"fmt"
	"time"

	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
)

// TokenSource says where the token of a connection comes from. Which fields a kind takes is a rule of the domain.
type TokenSource struct {
	Kind         string   `yaml:"kind"` // literal, env, file, client_credentials or refresh_token
	Value        string   `yaml:"value"`
	Variable     string   `yaml:"variable"` // its name: the worker reads it
	Path         string   `yaml:"path"`     // absolute: the worker reads it
	TokenURL     string   `yaml:"tokenUrl"`
	ClientID     string   `yaml:"clientId"`
	ClientSecret string   `yaml:"clientSecret"`
	Scopes       []string `yaml:"scopes"`
	Audience     string   `yaml:"audience"`
	Resource     string   `yaml:"resource"`
	AuthStyle    string   `yaml:"authStyle"`
	RefreshToken string   `yaml:"refreshToken"`
	Margin       string   `yaml:"margin"` // such as 5m; empty: the smaller of 24 h and a quarter of the lifetime
}

// Desired is the source as the domain has it; nil where there is none.
func (s *TokenSource) Desired() (*desired.TokenSource, error) {
	if s == nil {
		return nil, nil
	}
	source := &desired.TokenSource{
		Kind: desired.SourceKind(s.Kind), Value: s.Value, Variable: s.Variable, Path: s.Path, TokenURL: s.TokenURL,
		ClientID: s.ClientID, ClientSecret: s.ClientSecret, Scopes: s.Scopes, Audience: s.Audience, Resource: s.Resource,
		AuthStyle: s.AuthStyle, RefreshToken: s.RefreshToken,
	}
	if s.Margin == "" {
		return source, nil
	}
	margin, err := time.ParseDuration(s.Margin)
	if err != nil || margin < time.Second || margin > desired.MaxTokenMargin {
		return nil, fmt.Errorf("tokenSource.margin must be a duration such as 5m, of 1s to %s", desired.MaxTokenMargin)
	}
	source.MarginSeconds = int(margin / time.Second)
	return source, nil
}
