#!/bin/bash
# stop.sh: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill "$(cat "$PRODUCTS/keycloak/pid")"
sleep 3
stop_postgres keycloak
