package tokensource

import (
	"github.com/holdfast-mcp/holdfast/internal/domain/desired"
	"github.com/holdfast-mcp/holdfast/internal/domain/health"
)

// place is where a token was to come from, as people know it, and what they can do there.
type place struct{ name, next string }

// placeOf names a source's variable or file: both are shown with the config as well.
func placeOf(d desired.TokenSource) place {
	shown := d.Redacted()
	switch d.Kind {
	case desired.SourceEnv:
		return place{
			name: "the environment variable " + shown.Variable,
			next: "Set " + shown.Variable + " to the token where the worker runs, and start the worker anew.",
		}
	case desired.SourceFile:
		return place{
			name: "the file " + shown.Path,
			next: "Write the token, and nothing else, into " + shown.Path + " where the worker runs; it must be able to read it.",
		}
	case desired.SourceClientCredentials, desired.SourceRefreshToken:
		return place{
			name: "the answer of the token server",
			next: "Check tokenUrl, clientId and clientSecret of the token source, and apply the corrected config.",
		}
	case desired.SourceLiteral:
	}
	return place{name: "the token source", next: "Correct the configuration of the token source, and apply it again."}
}

// fault is the failure of a place; what completes a sentence that begins with its name.
func (p place) fault(what string) *Error {
	return p.invalid(p.name + " " + what)
}

func (p place) invalid(cause string) *Error {
	return &Error{Failure: health.TokenSourceYieldsNone(cause, p.next)}
}
