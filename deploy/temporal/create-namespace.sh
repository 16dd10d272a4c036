#!/bin/sh
# Creates the namespace, or raises the retention of one that exists; never lowers it. Safe to run again.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=deploy/temporal/lib.sh
. "$here/lib.sh"

: "${TEMPORAL_ADDRESS:?}" "${TEMPORAL_NAMESPACE:?}" "${RETENTION_HOURS:?}"

# retention_hours prints the retention that the namespace has, or fails when there is no such namespace.
retention_hours() {
	described=$(temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" --output json 2>/dev/null) || return 1
	seconds=$(printf '%s\n' "$described" | sed -n 's/.*"workflowExecutionRetentionTtl": *"\([0-9]*\)s".*/\1/p')
	[ -n "$seconds" ] || die "namespace $TEMPORAL_NAMESPACE tells no retention"
	echo $((seconds / 3600))
}

# ensure_namespace can be repeated whatever it got done before.
ensure_namespace() {
	if ! have=$(retention_hours); then
		temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "${RETENTION_HOURS}h"
	elif [ "$have" -lt "$RETENTION_HOURS" ]; then
		temporal operator namespace update --namespace "$TEMPORAL_NAMESPACE" --retention "${RETENTION_HOURS}h"
	fi
}

retry temporal operator cluster health
retry ensure_namespace
have=$(retention_hours) || die "namespace $TEMPORAL_NAMESPACE was not created"
say "namespace $TEMPORAL_NAMESPACE keeps closed workflows for $have hours"
