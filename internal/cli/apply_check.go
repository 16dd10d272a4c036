package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
	"github.com/holdfast-mcp/holdfast/internal/store"
)

// refusedError is a desired config that breaks a rule of its profile.
type refusedError struct{ failure health.Failure }

func (e *refusedError) Error() string {
	text := e.failure.Error()
	if cause := e.failure.Cause(); cause != "" {
		text = string(e.failure.Code) + ": " + cause
	}
	return fmt.Sprintf("%s. Nothing was changed. Next: %s", strings.TrimSuffix(text, "."), e.failure.RecommendedAction)
}

// checked is a config in its normal form, for a connection or an account.
type checked struct {
	profile  desired.Profile
	config   desired.Config
	metadata desired.Metadata
	source   *desired.TokenSource
}

func (c checked) of(place store.Workspace, name string) store.Desired {
	return store.Desired{
		Key:      store.Key{Workspace: place.ID, Name: name, Directory: place.Directory},
		EngineID: place.EngineID, Profile: c.profile, Config: c.config, Metadata: c.metadata, TokenSource: c.source,
	}
}

func (c checked) shared(account, name string) store.AccountDesired {
	return store.AccountDesired{
		Account: account, Name: name, Profile: c.profile, Config: c.config, Metadata: c.metadata, TokenSource: c.source,
	}
}

// check brings a connection into its normal form and applies the rules of its profile. One that is wanted switched off is
// checked as if it were on: being off is what was asked for, not a mistake.
func check(c manifest.Connection) (want checked, err error) {
	body, err := c.Body()
	if err != nil {
		return checked{}, err
	}
	want.profile = desired.Profile(c.Profile)
	if want.config, err = desired.Normalise(want.profile, body); err != nil {
		return checked{}, err
	}
	if want.metadata, err = desired.NormaliseMetadata(body); err != nil {
		return checked{}, err
	}
	if want.source, err = c.TokenSource.Desired(); err != nil {
		return checked{}, err
	}
	on := want.config
	enabled := true
	on.Enabled = &enabled
	if want.source != nil {
		if failure := want.source.Validate(); failure != nil {
			return checked{}, &refusedError{failure: *failure}
		}
		if on.Headers, err = withPlaceholder(on.Headers); err != nil {
			return checked{}, err
		}
	}
	if failure := desired.Validate(want.profile, on, want.metadata); failure != nil {
		return checked{}, &refusedError{failure: *failure}
	}
	return want, nil
}

// withPlaceholder gives the headers the authorization that a token source will.
func withPlaceholder(headers map[string]string) (map[string]string, error) {
	given := map[string]string{"Authorization": "Bearer placeholder"}
	for name, value := range headers {
		if strings.EqualFold(name, "Authorization") {
			return nil, errors.New("give a token source or the header Authorization, not both")
		}
		given[name] = value
	}
	return given, nil
}
