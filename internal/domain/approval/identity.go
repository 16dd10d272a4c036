package approval

// Identity is whose an execution or a session is: an account of an organisation. Names and roles are no part of it.
type Identity struct {
	Account      string `json:"account"`
	Organisation string `json:"organisation"`
}

// Mode is how a session's calls are approved. It is fixed when the session is made.
type Mode string

const (
	// ModeModel lets the client answer by the tool resume, where the rule allows that.
	ModeModel Mode = "model"
	// ModeBrowser sends a person to the approval page; the decision itself drives the run.
	ModeBrowser Mode = "browser"
)

// ParseMode reads the parameter elicitation_mode; anything that is not known is [ModeModel].
func ParseMode(text string) Mode {
	if text == string(ModeBrowser) {
		return ModeBrowser
	}
	return ModeModel
}
