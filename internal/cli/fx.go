package cli

import (
	"go.uber.org/fx"

	"github.com/holdfast-mcp/holdfast/internal/buildinfo"
)

// Module provides the [App]. Commands of other packages join it by [AsCommand].
var Module = fx.Module("cli", fx.Provide(provideApp))

// Params are what the command line is made of.
type Params struct {
	fx.In

	Build  buildinfo.Build
	Extras []Extra `group:"commands"`
}

func provideApp(p Params) *App {
	return New(Options{Build: p.Build, ExtraCommands: p.Extras})
}

// AsCommand provides a constructor of an [Extra] as a command of the line.
func AsCommand(constructor any) fx.Option {
	return fx.Provide(fx.Annotate(constructor, fx.ResultTags(`group:"commands"`)))
}
