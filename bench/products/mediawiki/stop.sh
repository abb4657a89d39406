#!/bin/bash
# stop.sh: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill "$(cat "$PRODUCTS/mediawiki/nginx.pid")" "$(cat "$PRODUCTS/mediawiki/fpm.pid")"
stop_mariadb mediawiki
sleep 2
