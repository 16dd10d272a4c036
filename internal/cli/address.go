package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-mcp/holdfast/internal/config/manifest"
	"github.com/holdfast-mcp/holdfast/internal/domain/delivery"
	"github.com/holdfast-mcp/holdfast/workflows/connection"
)

const addressLong = `A connection is addressed as WORKSPACE/NAME, or with --workspace and --name. --directory is needed only where a workspace
has the same name in several directories.`

// addressFlags name a connection where the argument does not.
type addressFlags struct {
	workspace, name, directory string
}

func (f *addressFlags) bind(cmd *cobra.Command) {
	f.bindNames(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.directory, "directory", "", "the workspace's directory in the engine")
}

// bindNames is for what concerns a name in all directories of a workspace.
func (f *addressFlags) bindNames(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.workspace, "workspace", "", "the workspace's id")
	flags.StringVar(&f.name, "name", "", "the MCP server's name")
}

// address is a connection as people name it; the directory may be open.
type address struct {
	workspace, name, directory string
}

func (a address) String() string { return a.workspace + "/" + a.name }

// oneAddress takes at most one argument, and quotes none.
func oneAddress(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("give one connection as WORKSPACE/NAME, %d arguments given", len(args))
	}
	return nil
}

// parse reads the address out of the argument and the flags; base is what a relative directory is taken from.
func (f addressFlags) parse(args []string, base string) (address, error) {
	parsed := address{workspace: f.workspace, name: f.name}
	if len(args) == 1 {
		if f.workspace != "" || f.name != "" {
			return address{}, usagef("give WORKSPACE/NAME, or --workspace and --name, not both")
		}
		if strings.Count(args[0], "/") > 1 {
			return address{}, usagef("address the connection with --workspace and --name: there is more than one / in the argument")
		}
		parsed.workspace, parsed.name, _ = strings.Cut(args[0], "/")
	}
	if parsed.workspace == "" || parsed.name == "" {
		return address{}, usagef("name the connection: WORKSPACE/NAME, or --workspace and --name")
	}
	if f.directory != "" {
		parsed.directory = manifest.CleanDirectory(base, f.directory)
	}
	return parsed, nil
}

// find is the key of the connection that argument and flags address.
func (s *session) find(ctx context.Context, flags addressFlags, args []string) (delivery.Key, error) {
	base, err := s.app.workDir()
	if err != nil {
		return delivery.Key{}, err
	}
	wanted, err := flags.parse(args, base)
	if err != nil {
		return delivery.Key{}, err
	}
	if wanted.directory != "" {
		return delivery.Key{Workspace: wanted.workspace, Name: wanted.name, Directory: wanted.directory}, nil
	}
	found, err := s.stored(ctx, wanted)
	if err != nil {
		return delivery.Key{}, err
	}
	if len(found) == 0 {
		if found, err = s.running(ctx, wanted); err != nil {
			return delivery.Key{}, err
		}
	}
	return only(wanted, found)
}

// only is the one candidate, or says why there is not just one.
func only(wanted address, found []delivery.Key) (delivery.Key, error) {
	switch len(found) {
	case 0:
		return delivery.Key{}, notFoundf("no connection %s; see: holdfast connection list (one that was removed needs --directory)", wanted)
	case 1:
		return found[0], nil
	default:
		lines := make([]string, len(found))
		for i, key := range found {
			lines[i] = fmt.Sprintf("  --directory %s", key.Directory)
		}
		return delivery.Key{}, usagef("%s is in several directories, add one of:\n%s", wanted, strings.Join(lines, "\n"))
	}
}

// stored looks among what is wanted. It unseals nothing, so that a damaged row can be addressed too.
func (s *session) stored(ctx context.Context, wanted address) ([]delivery.Key, error) {
	st, err := s.store(ctx)
	if err != nil {
		return nil, err
	}
	wantedKeys, err := st.Keys(ctx)
	if err != nil {
		return nil, err
	}
	var found []delivery.Key
	for _, want := range wantedKeys {
		if want.Workspace == wanted.workspace && want.Name == wanted.name {
			found = append(found, want.Key)
		}
	}
	return sortedKeys(found), nil
}

// running looks among the workflows: one whose removal was not finished is wanted no more, and still there.
func (s *session) running(ctx context.Context, wanted address) ([]delivery.Key, error) {
	remote, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	rows, err := remote.Connections.List(ctx, connection.Filter{Workspace: wanted.workspace, Name: wanted.name})
	if err != nil {
		return nil, err
	}
	var found []delivery.Key
	for _, row := range rows {
		if row.Snapshot != nil && row.Workspace == wanted.workspace && row.Name == wanted.name {
			found = append(found, delivery.Key{Workspace: row.Workspace, Name: row.Name, Directory: row.Snapshot.Directory})
		}
	}
	return sortedKeys(found), nil
}

func sortedKeys(found []delivery.Key) []delivery.Key {
	slices.SortFunc(found, func(a, b delivery.Key) int { return strings.Compare(a.Directory, b.Directory) })
	return slices.Compact(found)
}

// short is a connection on one line of words.
func short(key delivery.Key) string { return key.Workspace + "/" + key.Name }
