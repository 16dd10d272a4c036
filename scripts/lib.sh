# Shared by the scripts of this folder: where things live, and how a usable Temporal CLI is found.
# shellcheck shell=sh

: "${root:?the script that reads this file sets the root of the tree}"

# The release whose dev server the tests are measured against; the last one that `go install` accepts.
temporal_cli_version=v1.5.1

cache_home=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast
temporal_cli_dir=$cache_home/temporal-cli/$temporal_cli_version

say() { printf '%s\n' "$*" >&2; }

die() {
	say "$*"
	exit 1
}

# usable_temporal PATH: it runs and it has a dev server.
usable_temporal() {
	"$1" server start-dev --help >/dev/null 2>&1
}

# temporal_cli prints the CLI that the tests use, in the order that `holdfast dev` looks for it.
temporal_cli() {
	if [ -n "${HOLDFAST_TEMPORAL_CLI:-}" ]; then
		usable_temporal "$HOLDFAST_TEMPORAL_CLI" ||
			die "HOLDFAST_TEMPORAL_CLI is no Temporal CLI with a dev server: $HOLDFAST_TEMPORAL_CLI"
		command -v "$HOLDFAST_TEMPORAL_CLI"
		return
	fi
	for found in "$(command -v temporal || true)" "$temporal_cli_dir/temporal"; do
		if [ -n "$found" ] && usable_temporal "$found"; then
			printf '%s\n' "$found"
			return
		fi
	done
	return 1
}

# go_tool NAME ARGS...: a tool at the version that tools/go.mod pins.
go_tool() {
	go tool -modfile="$root/tools/go.mod" "$@"
}
