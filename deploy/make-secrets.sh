#!/bin/sh
# Makes the secrets of docker-compose.yml, each once: what exists is never replaced.
set -eu

folder=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)/secrets

# The folder keeps other users of this machine out. The files themselves are readable, since the processes in the containers
# are not root and compose mounts a file with the mode that it has here.
umask 022
mkdir -p "$folder"
chmod 700 "$folder"

for name in postgres_password codec_path; do
	if [ -s "$folder/$name" ]; then
		echo "kept $folder/$name"
		continue
	fi
	# 32 random bytes in hexadecimal; written beside and moved, so that a run cut short leaves no half secret.
	od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$folder/.$name"
	mv "$folder/.$name" "$folder/$name"
	echo "made $folder/$name"
done
