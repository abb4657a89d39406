#!/bin/bash
# stop.sh STACK: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill "$(cat "$PRODUCTS/$1/pid")"
sleep 1
stop_postgres "$1"
