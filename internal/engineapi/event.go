package engineapi

import (
	"bytes"
	"encoding/json"
	"strings"
)

// families are the beginnings of the event types that are passed on. A turn of a conversation sends a hundred events
// of other families.
var families = [...]string{"server.", "global.", "mcp."}

// mayConcern is a cheap first look that spares parsing the noise: it finds every event that [concerns], and some more.
func mayConcern(data []byte) bool {
	for _, family := range families {
		if bytes.Contains(data, []byte(`"`+family)) {
			return true
		}
	}
	return false
}

func concerns(kind string) bool {
	if kind == eventHeartbeat {
		return false
	}
	for _, family := range families {
		if strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

func decodeEvent(data []byte) (Event, error) {
	var out struct {
		Directory string `json:"directory"`
		Payload   struct {
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return Event{}, err
	}
	return Event{Type: out.Payload.Type, Directory: out.Directory, Properties: out.Payload.Properties}, nil
}
