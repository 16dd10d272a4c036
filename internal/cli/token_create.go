package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/auth"
)

func newTokenCreate(a *App) *cobra.Command {
	var (
		role    string
		request auth.Request
	)
	cmd := &cobra.Command{
		Use:   "create --role ROLE --name NAME",
		Short: "Make a token; it is shown this one time",
		Long: "Makes a token for the gateway and writes it to standard output, this one time: the store keeps only its hash.\n" +
			"A viewer reads. A collaborator also calls tools, decides on calls of its own, and changes connections whose endpoints are on\n" +
			"this machine or OpenWork Cloud. An owner also connects any other endpoint, changes workspaces, manages tokens, and decides on\n" +
			"tool calls for everybody of the organisation.\n\n" +
			"Sessions and tool calls belong to the token's account: tokens of one account see and decide on each other's.",
		Args: noArguments,
	}
	cmd.RunE = a.withTokens(func(ctx context.Context, tokens *auth.Tokens, _ []string) error {
		var missing []string
		if role == "" {
			missing = append(missing, "--role")
		}
		if request.Name == "" {
			missing = append(missing, "--name")
		}
		if len(missing) > 0 {
			return usagef("missing: %s", strings.Join(missing, ", "))
		}
		var err error
		if request.Role, err = auth.ParseRole(role); err != nil {
			return usagef("--role: %w", err)
		}
		request.By = "cli"
		secret, row, err := tokens.Create(ctx, request)
		var wrong *auth.RequestError
		if errors.As(err, &wrong) {
			return usagef("%w", err)
		}
		if err != nil {
			return err
		}
		if a.JSON() {
			view := newTokenView(row, time.Now())
			view.Token = secret.Reveal()
			return a.printJSON(view)
		}
		a.say("token %s of the role %s; revoke it: holdfast token revoke %s", row.ID, row.Role, row.ID)
		_, err = fmt.Fprintln(a.Stdout(), secret.Reveal())
		return err
	})
	flags := cmd.Flags()
	flags.StringVar(&role, "role", "", "what it may do: viewer, collaborator or owner")
	flags.StringVar(&request.Name, "name", "", "who uses it, in your words")
	flags.StringVar(&request.Account, "account", "", "whose its sessions and tool calls are (default: nobody else's)")
	flags.DurationVar(&request.ExpiresIn, "expires", 0, "how long it may be used, such as 720h (default: until it is revoked)")
	return cmd
}
