#!/bin/sh
# Adds the search attributes of Holdfast to the namespace. Safe to run again; one that exists with another type is an error.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=deploy/temporal/lib.sh
. "$here/lib.sh"

: "${TEMPORAL_ADDRESS:?}" "${TEMPORAL_NAMESPACE:?}"

# Waiting does not change the type of an attribute.
PERMANENT='different type'

# create TYPE NAME...
create() {
	type=$1
	shift
	for name in "$@"; do
		# A new namespace is known to every part of the server only after some seconds: hence the retry.
		retry temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" --name "$name" --type "$type"
	done
}

create Keyword HoldfastWorkspace HoldfastName HoldfastEngine HoldfastState HoldfastFailureCode HoldfastOwner HoldfastSession HoldfastTool
create Datetime HoldfastStateSince HoldfastDeadline
say "search attributes of namespace $TEMPORAL_NAMESPACE are complete"
