#!/bin/sh
# Creates both databases of the Temporal server and brings their schemas up to date. Safe to run again: what exists is kept.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=deploy/temporal/lib.sh
. "$here/lib.sh"

: "${SQL_PLUGIN:?}" "${SQL_HOST:?}" "${SQL_PORT:?}" "${SQL_USER:?}"
SQL_PASSWORD=$(secret postgres_password)
export SQL_PASSWORD

schemas=/etc/temporal/schema/postgresql/v12

# bring DATABASE FOLDER
bring() {
	retry temporal-sql-tool --db "$1" create
	temporal-sql-tool --db "$1" setup-schema -v 0.0
	temporal-sql-tool --db "$1" update-schema -d "$schemas/$2/versioned"
}

bring temporal temporal
bring temporal_visibility visibility
say "schemas are up to date"
