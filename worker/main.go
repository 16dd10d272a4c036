// Command holdfast-worker runs Holdfast's workflows and activities.
package main

import (
	"os"

	"github.com/holdfast-mcp/holdfast/internal/app"
)

func main() { os.Exit(app.Run("holdfast-worker", "worker", app.Worker)) }
