package health

// Failure says what is wrong, where it was found, whether trying again can help
// and what a person can do. Build it with a constructor of this package: they
// redact texts and details, and keep code, stage and retryability consistent.
// It is JSON-stable: decoding what was encoded gives an equal value.
type Failure struct {
	Code              Code   `json:"code"`
	Stage             Stage  `json:"stage"`
	Retryable         bool   `json:"retryable"`
	RecommendedAction string `json:"recommendedAction"`
	Message           string `json:"message"`

	// Aliases are further names of the same failure, most specific first.
	Aliases []string `json:"aliases,omitempty"`
	// RequestID and ReferenceID are the first ones found in the details.
	RequestID   string         `json:"requestId,omitempty"`
	ReferenceID string         `json:"referenceId,omitempty"`
	Details     map[string]any `json:"details,omitempty"`
}

// Error is the code and the redacted message, for logs and wrapped errors.
func (f Failure) Error() string {
	return string(f.Code) + ": " + f.Message
}

// DetailRefusedDigest is the detail that names the token which an endpoint refused, without telling it: a variable or a
// file that still holds it holds nothing new.
const DetailRefusedDigest = "refusedDigest"
