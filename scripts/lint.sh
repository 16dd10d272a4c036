#!/bin/sh
# Every rule that a machine can check. Runs all checks, then says which failed.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$root/scripts/lib.sh"
cd "$root"

# Style, correctness and import rules: .golangci.yml gives the purpose of each.
check_go() { go_tool golangci-lint run ./...; }

# What makes a workflow differ on replay and no import rule can see: goroutines, channels, ranging over maps.
check_workflows() {
	[ -d workflows ] || return 0
	go_tool workflowcheck -config tools/workflowcheck.yaml ./workflows/...
}

check_modules() {
	go mod tidy -diff || return 1
	go mod verify >/dev/null || return 1
	# The server's dependencies pin an older API than the SDK's: it is run as a program, never linked.
	if grep -n 'go\.temporal\.io/server' go.mod; then
		say "go.mod: the Temporal server must not be linked into this module"
		return 1
	fi
}

# Clients choose where packages come from; a file that names a registry's host breaks whoever uses another.
check_hosts() {
	if git grep --untracked -nEI '\b(registry|proxy|sum|deb|security|index|files)\.[a-z]+\.(org|com|io|net)\b' -- . ':!*.sum'; then
		say "these lines name a package registry's host"
		return 1
	fi
}

check_scripts() {
	# shellcheck disable=SC2046 # names of ours, without spaces
	shellcheck --external-sources .ci/run $(git ls-files --cached --others --exclude-standard '*.sh')
}

failed=''
for check in go workflows modules hosts scripts; do
	started=$(date +%s)
	if "check_$check"; then
		result=ok
	else
		result=FAILED
		failed="$failed $check"
	fi
	say "lint: $check: $result, $(($(date +%s) - started))s"
done
[ -z "$failed" ] || die "lint failed:$failed"
