#!/bin/sh
# Brings what the lint and the tests need and the machine lacks. Safe to run at any time, by several at once; does
# nothing when everything is there.
#
#   scripts/tools.sh [lint|test|all]        default: all
#
# Slow steps run side by side: one waits for the network while another compiles.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
# shellcheck source=scripts/lib.sh
. "$root/scripts/lib.sh"

state=$root/.cache/setup
test_packages="chromium"
lint_packages="shellcheck"

# --- what is there -----------------------------------------------------------------------------------------------

have_testbed() { cmp -s "$root/testbed/package-lock.json" "$root/testbed/node_modules/.installed-lock.json"; }

have_temporal() { temporal_cli >/dev/null; }

have_chromium() { command -v chromium >/dev/null; }

have_shellcheck() { command -v shellcheck >/dev/null; }

# A tool counts as built for one Go release and one state of the pins.
tool_stamp() {
	go version
	cksum "$root/tools/go.mod" "$root/tools/go.sum"
}

have_linters() { [ "$(tool_stamp)" = "$(cat "$state/linters.stamp" 2>/dev/null)" ]; }

have_runner() { [ "$(tool_stamp)" = "$(cat "$state/runner.stamp" 2>/dev/null)" ]; }

# --- how it is brought: each runs as a process of its own, under a lock ---------------------------------------------

# locked FILE waits for whoever is at the same work; the lock ends with this process.
locked() {
	mkdir -p "$(dirname -- "$1")"
	exec 9>"$1"
	flock -w 1200 9 || die "somebody has held $1 for 20 minutes: end that set-up first"
}

bring_testbed() {
	locked "$state/testbed.lock"
	have_testbed && return
	cd "$root/testbed"
	npm ci --no-audit --no-fund --ignore-scripts --fetch-retries 5
	cp package-lock.json node_modules/.installed-lock.json
}

bring_temporal() {
	locked "$temporal_cli_dir/.lock"
	have_temporal && return
	# Built beside its place and moved there: nobody ever sees half a binary.
	building=$temporal_cli_dir/.building
	rm -rf "$building"
	(cd / && GOBIN=$building GOFLAGS='' GOWORK=off CGO_ENABLED=0 go install "github.com/temporalio/cli/cmd/temporal@$temporal_cli_version")
	mv "$building/temporal" "$temporal_cli_dir/temporal"
	rm -rf "$building"
	have_temporal || die "the Temporal CLI was built but does not start: $temporal_cli_dir/temporal"
}

bring_debian() {
	locked "$state/debian.lock"
	export DEBIAN_FRONTEND=noninteractive
	apt="apt-get -q -o Acquire::Retries=5 -o DPkg::Lock::Timeout=600"
	for try in 1 2 3; do
		# shellcheck disable=SC2086 # both are lists of words
		if $apt update && $apt install -y --no-install-recommends $missing_packages </dev/null; then
			return
		fi
		say "apt-get failed, attempt $try of 3"
		sleep 5
	done
	return 1
}

bring_linters() {
	locked "$state/linters.lock"
	have_linters && return
	for tool in golangci-lint workflowcheck; do
		go_tool -n "$tool" >/dev/null
	done
	tool_stamp >"$state/linters.stamp"
}

bring_runner() {
	locked "$state/runner.lock"
	have_runner && return
	go_tool -n gotestsum >/dev/null
	tool_stamp >"$state/runner.stamp"
}

# --- running the steps side by side ----------------------------------------------------------------------------------

describe() {
	case $1 in
	testbed) echo "engine, MCP servers and clients from npm" ;;
	temporal) echo "Temporal CLI $temporal_cli_version (compiled once, about 3 minutes on 2 cores)" ;;
	debian) echo "Debian packages: $missing_packages" ;;
	linters) echo "linters (compiled once, about 3 minutes on 2 cores)" ;;
	runner) echo "test runner" ;;
	esac
}

elapsed() { echo "$(($(date +%s) - started))s"; }

# Each step leads a process group, so that an interrupt ends its compilers and downloads too. What it says to people goes
# to descriptor 3, everything else to its log.
start() {
	say "set-up: $1: $(describe "$1")"
	touch "$state/$1.running"
	started=$started missing_packages=$missing_packages \
		setsid sh "$0" --step "$1" 3>&2 >"$state/$1.log" 2>&1 </dev/null &
	steps="$steps $1:$!"
}

# Not called from a condition: there the shell would go on after a failed command.
run_step() {
	# shellcheck disable=SC2064 # the name is fixed now
	trap "rm -f '$state/$1.running'" EXIT
	trap 'exit 143' TERM
	"bring_$1"
	echo "set-up: $1: done, $(elapsed)" >&3
}

# A step that has not yet become the leader of its group is ended alone.
stop_all() {
	trap - INT TERM
	for step in $steps; do
		kill -s TERM -- "-${step#*:}" 2>/dev/null || kill -s TERM "${step#*:}" 2>/dev/null || true
	done
	exit 130
}

still_running() { (cd "$state" && find . -name '*.running' | sed 's|^\./\(.*\)\.running$|\1|' | sort | tr '\n' ' '); }

# Says every 30 s what is still under way, and ends what takes longer than 30 minutes.
watch_steps() {
	seconds=0
	while [ -n "$(still_running)" ]; do
		sleep 1
		seconds=$((seconds + 1))
		[ $((seconds % 30)) != 0 ] || say "set-up: $(elapsed), still at: $(still_running)"
		if [ "$seconds" -ge 1800 ]; then
			say "set-up: gave up after $(elapsed)"
			stop_all
		fi
	done
}

wait_for_all() {
	watch_steps
	failed=''
	for step in $steps; do
		name=${step%:*}
		wait "${step#*:}" && continue
		failed="$failed $name"
		say "set-up: $name: FAILED, the end of $state/$name.log:"
		tail -n 40 "$state/$name.log" >&2
	done
	[ -z "$failed" ] || die "set-up failed:$failed"
	say "set-up: complete, $(elapsed)"
}

# demand NAMES...: the programs that nothing here can bring.
demand() {
	lacking=''
	for program in "$@"; do
		command -v "$program" >/dev/null || lacking="$lacking $program"
	done
	[ -z "$lacking" ] || die "missing on this machine:$lacking: install them, then run this again"
}

can_install() { [ "$(id -u)" = 0 ] && [ -e /etc/debian_version ] && command -v apt-get >/dev/null; }

main() {
	demand go git flock setsid cksum
	mkdir -p "$state"
	rm -f "$state"/*.running
	started=$(date +%s)
	steps=''
	missing_packages=''
	trap stop_all INT TERM

	case $1 in
	test | all) have_chromium || missing_packages="$missing_packages $test_packages" ;;
	esac
	case $1 in
	lint | all) have_shellcheck || missing_packages="$missing_packages $lint_packages" ;;
	esac
	missing_packages=${missing_packages# }
	if [ -n "$missing_packages" ]; then
		can_install || die "missing on this machine: $missing_packages: install with: apt-get install $missing_packages"
		start debian
	fi

	case $1 in
	test | all)
		have_testbed || { demand node npm && start testbed; }
		have_temporal || start temporal
		have_runner || start runner
		;;
	esac
	case $1 in
	lint | all) have_linters || start linters ;;
	esac

	[ -z "$steps" ] || wait_for_all
}

case ${1:-all} in
--step) run_step "$2" ;;
lint | test | all) main "${1:-all}" ;;
*) die "usage: scripts/tools.sh [lint|test|all]" ;;
esac
