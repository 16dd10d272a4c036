// Command holdfast-gateway serves Holdfast's REST API.
package main

import (
	"os"

	"github.com/holdfast-mcp/holdfast/internal/app"
)

func main() { os.Exit(app.Run("holdfast-gateway", "gateway", app.Gateway)) }
