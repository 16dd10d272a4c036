#!/bin/sh
# Starts the Temporal UI with the codec endpoint of the worker. Its path holds a secret: the UI of a server without login can
# send neither cookie nor token.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=deploy/temporal/lib.sh
. "$here/lib.sh"

: "${CODEC_URL:?the address of the codec endpoint as the browser sees it}"
codec_path=$(secret codec_path)
TEMPORAL_CODEC_ENDPOINT=${CODEC_URL%/}/$codec_path
export TEMPORAL_CODEC_ENDPOINT
cd /home/ui-server
exec ./start-ui-server.sh
