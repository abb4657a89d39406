#!/bin/bash
# stop.sh: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill -QUIT "$(cat "$PRODUCTS/rt/pid")"
sleep 2
stop_postgres rt
