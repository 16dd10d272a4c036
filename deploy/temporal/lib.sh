# Shared by the jobs of this folder.
# shellcheck shell=sh

# say TEXT: one line of progress.
say() { printf '%s\n' "$*"; }

# die TEXT: why the job failed.
die() {
	printf '%s\n' "$*" >&2
	exit 1
}

# secret NAME: the content of a mounted secret, without its line end.
secret() {
	[ -r "/run/secrets/$1" ] || die "secret $1 is not mounted or not readable: run deploy/make-secrets.sh"
	tr -d '\r\n' <"/run/secrets/$1"
}

# retry COMMAND...: until it succeeds, ATTEMPTS times with PAUSE seconds between, but not after an answer that holds the text
# PERMANENT. The last output is shown on failure.
retry() {
	attempt=1
	while ! output=$("$@" 2>&1); do
		case ${PERMANENT:+$output} in
		*"${PERMANENT:-}"*) [ -z "${PERMANENT:-}" ] || die "$output" ;;
		esac
		if [ "$attempt" -ge "${ATTEMPTS:-30}" ]; then
			die "gave up after $attempt attempts: $*
$output"
		fi
		say "not yet (attempt $attempt): $*"
		attempt=$((attempt + 1))
		sleep "${PAUSE:-2}"
	done
	[ -z "$output" ] || say "$output"
}
