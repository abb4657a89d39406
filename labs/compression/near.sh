#!/bin/sh
# near.sh SERVICE PORT LISTEN=LEVEL...: near ends to the far end that is the service SERVICE on the host `database`, one for each
# level: a far end follows the level that it is asked for.
set -eu
key=$LONGWIRE_SERVICE_DIRECTORY/../$1/psk
far=database:$2
shift 2
for way in "$@"; do
    "$LONGWIRE_PROGRAM" tunnel near --listen "${way%=*}" --to "$far" --psk-file "$key" --level "${way#*=}" &
done
# They end with the process group.
wait
