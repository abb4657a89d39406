#!/bin/sh
# far.sh PORT DATABASE: the far end of a tunnel, and the key for both ends.
set -eu
key=$LONGWIRE_SERVICE_DIRECTORY/psk
"$LONGWIRE_PROGRAM" tunnel keygen --psk "$key"
exec "$LONGWIRE_PROGRAM" tunnel far --listen "0.0.0.0:$1" --to "$2" --psk-file "$key"
