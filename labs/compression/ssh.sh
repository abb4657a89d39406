#!/bin/sh
# ssh.sh SERVICE PORT FORWARD...: one compressed connection to the sshd of the service SERVICE on the host `database`; each
# FORWARD is carried by it.
set -eu
key=$LONGWIRE_SERVICE_DIRECTORY/../$1/key
port=$2
shift 2
forwards=
for forward in "$@"; do forwards="$forwards -L $forward"; done
# $forwards is a list of words.
# shellcheck disable=SC2086
exec ssh -F /dev/null -C -N -p "$port" -i "$key" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
    -o LogLevel=ERROR -o ExitOnForwardFailure=yes $forwards database
