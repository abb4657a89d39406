#!/bin/bash
# stop.sh: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill "$(cat "$PRODUCTS/cacti/nginx.pid")" "$(cat "$PRODUCTS/cacti/fpm.pid")"
stop_mariadb cacti
sleep 2
