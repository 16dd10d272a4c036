#!/bin/sh
# Starts the Temporal server with the database password from its secret file: the image itself reads only a variable.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=deploy/temporal/lib.sh
. "$here/lib.sh"

POSTGRES_PWD=$(secret postgres_password)
export POSTGRES_PWD
exec /etc/temporal/entrypoint.sh
