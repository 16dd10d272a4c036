package cli

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

// updateLimit bounds an update: the workflow answers within its own wait, and a new run may have to take over.
const updateLimit = connection.UpdateWait + 20*time.Second

// requestFlags go with what asks a workflow for work.
type requestFlags struct {
	key     string
	trigger string
}

func (f *requestFlags) bind(cmd *cobra.Command, trigger string) {
	flags := cmd.Flags()
	flags.StringVar(&f.key, "idempotency-key", "", "id of the request: the same id is carried out once (default: random)")
	flags.StringVar(&f.trigger, "trigger", trigger, "why, in your words; shown with the delivery")
}

func (f *requestFlags) check() error {
	if len(f.key) > 200 {
		return usagef("--idempotency-key must not be longer than 200 bytes")
	}
	return nil
}

// id is that of one request, kept when it is sent again.
func (f *requestFlags) id() string {
	if f.key == "" {
		raw := make([]byte, 16)
		_, _ = rand.Read(raw) // never fails: it would have ended the process
		f.key = hex.EncodeToString(raw)
	}
	return f.key
}

func (f *requestFlags) request() connection.Request { return connection.Request{Trigger: f.trigger} }
