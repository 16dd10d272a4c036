package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

const applyLong = `Says what is wanted, from flags or from YAML files of many workspaces. All of it is checked before anything is written: what is
refused changes nothing. Applying the same again changes nothing either.

An engine is named by its URL, or by the id of one that was applied before. Credentials that are not given again are kept.
A workspace that is given another engine moves there with all its connections, and one that is given another account gets
what that one shares in place of what its old one shared. Both are told.
VAR and the file of a header hold its whole value, such as "Bearer ..."; those of a token hold the token alone.

Applying a connection that was removed wants it again. One that was switched off stays off: see holdfast connection enable.

With -f the JSON answer is a list, without it one document.`

// applyFlags are the flags as they were typed.
type applyFlags struct {
	files []string

	workspace, directory, engine string
	name, profile, url           string
	timeout                      string
	expectTools                  []string
	disabled                     bool

	headers, headerEnv, headerFiles []string

	account string
	source  sourceFlags

	engineUsername, enginePasswordEnv, enginePasswordFile string
}

// ofOne are the flags that describe one connection; they do not go with -f.
var ofOne = []string{
	"workspace", "directory", "engine", "name", "profile", "url", "header", "header-env", "header-file", "timeout",
	"expect-tool", "disabled", "engine-username", "engine-password-env", "engine-password-file", "account",
	"token-env", "token-file", "token-url", "client-id", "client-secret-env", "refresh-token-env", "token-scope",
}

func newApply(a *App) *cobra.Command {
	var (
		given   applyFlags
		wait    waitFlags
		request requestFlags
	)
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Say which connections are wanted, from flags or YAML files",
		Long:  applyLong,
		Example: `  holdfast connection apply --workspace acme --directory . --engine http://127.0.0.1:4096 \
    --name search --url http://127.0.0.1:3001/mcp --header-env Authorization=SEARCH_AUTH --wait ready
  holdfast connection apply -f workspaces.yaml`,
		Args: noArguments,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		wanted, err := a.plan(cmd, given, wait, request)
		if err != nil {
			return err
		}
		return a.with(func(ctx context.Context, s *session, _ []string) error {
			return s.apply(ctx, wanted, wait, &request)
		})(cmd, args)
	}
	given.bind(cmd)
	wait.bind(cmd)
	request.bind(cmd, "holdfast connection apply")
	return cmd
}

func (f *applyFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&f.files, "file", "f", nil, "YAML file of workspaces and their connections (repeatable)")
	flags.StringVar(&f.workspace, "workspace", "", "the workspace's id")
	flags.StringVar(&f.directory, "directory", "", "the workspace's directory in the engine; made absolute, links resolved")
	flags.StringVar(&f.engine, "engine", "", "the engine's URL, or the id of one that is known")
	flags.StringVar(&f.name, "name", "", "the MCP server's name in the engine")
	flags.StringVar(&f.profile, "profile", "generic", "rules for the config: generic or openwork")
	flags.StringVar(&f.url, "url", "", "the MCP server's URL")
	flags.StringArrayVar(&f.headers, "header", nil, "header as 'Name: value' (repeatable)")
	flags.StringArrayVar(&f.headerEnv, "header-env", nil, "header as NAME=VAR, its value in the variable VAR (repeatable)")
	flags.StringArrayVar(&f.headerFiles, "header-file", nil, "header as NAME=PATH, its value in the file (repeatable)")
	flags.StringVar(&f.account, "account", "", "the workspace's account, whose shared connections it gets too (default: kept, else default)")
	flags.StringVar(&f.source.variable, "token-env", "", "variable of the worker that holds the token, read whenever one is due")
	flags.StringVar(&f.source.file, "token-file", "", "file that holds the token; the worker reads it whenever one is due")
	flags.StringVar(&f.source.url, "token-url", "", "OAuth 2.0 token endpoint that issues the token")
	flags.StringVar(&f.source.clientID, "client-id", "", "client at the token endpoint")
	flags.StringVar(&f.source.secretEnv, "client-secret-env", "", "variable that holds the client's secret, read now and kept sealed")
	flags.StringVar(&f.source.refreshEnv, "refresh-token-env", "", "variable that holds the first refresh token, read now and kept sealed")
	flags.StringArrayVar(&f.source.scopes, "token-scope", nil, "scope to ask the token endpoint for (repeatable)")
	flags.StringVar(&f.timeout, "timeout", "", "of connecting, listing and each tool call: milliseconds, or such as 10s (default 5s)")
	flags.StringArrayVar(&f.expectTools, "expect-tool", nil, "tool that the server must list (repeatable; default: at least one)")
	flags.BoolVar(&f.disabled, "disabled", false, "want it switched off: it is kept, and not delivered")
	flags.StringVar(&f.engineUsername, "engine-username", "", "user of the engine's API (default opencode)")
	flags.StringVar(&f.enginePasswordEnv, "engine-password-env", "", "variable that holds the password of the engine's API")
	flags.StringVar(&f.enginePasswordFile, "engine-password-file", "", "file that holds the password of the engine's API")
}

// plan reads and checks everything that was given. It opens nothing.
func (a *App) plan(cmd *cobra.Command, given applyFlags, wait waitFlags, request requestFlags) (plan, error) {
	for _, check := range []func() error{wait.check, request.check} {
		if err := check(); err != nil {
			return plan{}, err
		}
	}
	if len(given.files) == 0 {
		return a.planOfFlags(cmd.Context(), given, cmd.Flags().Changed("engine-username"))
	}
	for _, name := range ofOne {
		if cmd.Flags().Changed(name) {
			return plan{}, usagef("give -f, or --%s and the other flags of one connection, not both", name)
		}
	}
	return a.planOfFiles(cmd.Context(), given.files)
}

// parseTimeout takes milliseconds or a duration; 0 is the default.
func parseTimeout(text string) (millis int, err error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if whole, notWhole := strconv.ParseUint(text, 10, 20); notWhole == nil {
		d, err = time.Duration(whole)*time.Millisecond, nil
	}
	if err != nil || d < time.Millisecond || d > 10*time.Minute {
		return 0, usagef("--timeout must be 1 to 600000 milliseconds, or a duration such as 10s")
	}
	return int(d.Milliseconds()), nil
}
