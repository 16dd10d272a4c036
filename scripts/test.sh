#!/bin/sh
# The one test command: everything under the race detector in random order, first what needs no other process to be
# up, then what runs against the dev server and the real engine. A skipped test fails the run: a test that cannot run
# here proves nothing here. Full records are kept in .cache/test.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$root/scripts/lib.sh"
cd "$root"

records=$root/.cache/test
rm -rf "$records"
mkdir -p "$records"

HOLDFAST_TEMPORAL_CLI=$(temporal_cli) || die "no Temporal CLI: run scripts/tools.sh test"
export HOLDFAST_TEMPORAL_CLI

slow='/(e2e|integration)(/|$)'
# Backwards: workflows/connection takes longest, and one core only.
packages=$(go list ./... | sort -r)

# run NAME PACKAGES FLAGS... Lint has vetted the code; what debuggers read takes as long to link as all the rest. SQLite, which is C
# made Go, is not watched for races: its locks are its own, and watched it takes five times as long. What calls it is watched, and must
# be: instances of the standard library's generic types that are compiled unwatched are linked for all, and hide who waits for whom.
run() {
	name=$1
	chosen=$2
	shift 2
	[ -n "$chosen" ] || return 0
	# shellcheck disable=SC2086 # a list of packages
	go_tool gotestsum --format pkgname --format-hide-empty-pkg --jsonfile "$records/$name.json" -- \
		-race -gcflags='modernc.org/sqlite/lib=-race=false' -shuffle=on -vet=off -ldflags='-s -w' "$@" $chosen
}

# count ACTION: finished tests, subtests included; a package's own line has no "Test".
count() { cat "$records"/*.json | grep -cE "\"Action\":\"$1\".*\"Test\":" || true; }

result=0
run unit "$(echo "$packages" | grep -vE "$slow" || true)" -p 2 -parallel 8 -timeout 8m || result=1
# Each of these starts servers of its own, and waits more than it works.
run e2e "$(echo "$packages" | grep -E "$slow" || true)" -p 2 -parallel 4 -timeout 12m || result=1

skipped=$(count skip)
if [ "$skipped" != 0 ]; then
	say "skipped tests, each of which fails the run:"
	cat "$records"/*.json | grep -E '"Action":"skip".*"Test":' | sed -E 's/.*"Package":"([^"]*)".*"Test":"([^"]*)".*/  \1 \2/' >&2
	result=1
fi
passed=$(count pass)
[ "$passed" != 0 ] || die "no test was run"

echo "$passed passed, $(count fail) failed, $skipped skipped"
exit "$result"
