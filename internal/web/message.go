package web

import "net/http"

// message is a page that says one thing.
type message struct {
	Title, Text, Hint string
	// Link and LinkText lead on; empty: to the first page.
	Link, LinkText string
	// Switch offers to log in as somebody else.
	Switch bool
	Back   string // where that leads to
}

func (m message) because(reason string) message {
	m.Text += ": " + reason
	return m
}

var (
	messageNothing = message{
		Title: "Nothing here for you", Text: "There is no such page, or it is not for the account that you are logged in with.",
		Hint: "A link to an approval works for whoever asked for the call, and only while its outcome is kept.", Switch: true,
	}
	messageInternal = message{Title: "Something went wrong", Text: "The page could not be made. Nothing was decided by this.", Hint: "Load it again."}
	messageHost     = message{Title: "Not by this name", Text: "This gateway is not reached by that name: add it to the setting gateway.hosts."}
	messageForeign  = message{
		Title: "Nothing was done", Text: "This did not come from a page of the gateway, or from one of an earlier login.",
		Hint: "Load the page again and repeat what you did.",
	}
	messageDenied = message{Title: "You may not come in", Text: "You are known here", Switch: true}
	messageDown   = message{
		Title: "Not available right now", Text: "What the page needs cannot be reached. Calls and approvals are kept; nothing is lost.",
		Hint: "Load the page again in a moment.",
	}
	messageUnanswered = message{
		Title: "Not answered yet", Text: "No worker runs, or Temporal is away. Your answer may still come to count, until the deadline.",
		Hint: "Look at the call again in a moment, and tell whoever runs this gateway.", LinkText: "Back to the call",
	}
	messageViewer = message{
		Title: "You may look, not decide", Text: "This account has the role viewer. To decide it needs the role collaborator: ask whoever runs this gateway.",
	}
	messageRule = message{
		Title: "A rule refuses this call", Text: "The rules have changed since it was asked for: it can be declined or cancelled, not approved",
		Hint: "Nothing was decided by this.",
	}
	messageReadOnly  = message{Title: "Nothing is decided here", Text: "This gateway is read-only: decide on one that is not."}
	messageBadAnswer = message{
		Title: "Not an answer", Text: "The answer is approve, decline or cancel, with a reason of at most 1,000 characters.",
		Hint: "Nothing was decided by this. Go back and answer again.",
	}
	messageURLOwner = message{
		Title: "Only who asked can go on", Text: "The tool sends whoever asked to a page of its own: nobody else may accept that for them.",
	}
)

func (w *Web) message(rw http.ResponseWriter, v *visit, status int, m message) {
	if m.Link == "" {
		m.Link, m.LinkText = "/", "To the first page"
	}
	if v.Method == http.MethodGet {
		m.Back = v.URL.Path
	}
	w.render(rw, v, page{Name: "message", Status: status, Title: m.Title, Body: m})
}

func (w *Web) nothing(rw http.ResponseWriter, v *visit) {
	w.message(rw, v, http.StatusNotFound, messageNothing)
}
