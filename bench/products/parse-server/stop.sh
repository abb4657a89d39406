#!/bin/bash
# stop.sh: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill "$(cat "$PRODUCTS/parse-server/pid")" "$(cat "$PRODUCTS/parse-server/ferretdb.pid")"
sleep 1
stop_postgres ferret
