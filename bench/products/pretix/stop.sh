#!/bin/bash
# stop.sh: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill "$(cat "$PRODUCTS/pretix/pid")"
sleep 2
stop_postgres pretix
