#!/bin/bash
# stop.sh: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill "$(cat "$PRODUCTS/directus/pid")"
sleep 1
stop_postgres directus
