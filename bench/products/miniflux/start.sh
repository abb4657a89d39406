#!/bin/bash
# start.sh: Miniflux in $WEB, its PostgreSQL in $DB, a host of feeds in $CLI; seeds it at its first start.
# Signs in once for each of four clients: vars.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
own=$PRODUCTS/miniflux
start_postgres miniflux
ip netns exec "$CLI" python3 "$here/feeds.py" 9000 >"$own/feeds.log" 2>&1 &
echo $! >"$own/feeds.pid"
# Feeds are read when a client asks, not by a timer.
ip netns exec "$WEB" env DATABASE_URL='postgres://miniflux:demo@10.88.2.2/miniflux?sslmode=disable' LISTEN_ADDR=0.0.0.0:8080 RUN_MIGRATIONS=1 \
    CREATE_ADMIN=1 ADMIN_USERNAME=admin ADMIN_PASSWORD=demo-password DISABLE_SCHEDULER_SERVICE=1 FETCHER_ALLOW_PRIVATE_NETWORKS=1 \
    "$own/miniflux.app" >"$own/log" 2>&1 &
echo $! >"$own/pid"
wait_for http://10.88.1.2:8080/healthcheck
in_web() { ip netns exec "$WEB" python3 "$here/seed.py" http://10.88.1.2:8080 "$1"; }
[ -e "$own/seeded" ] || { in_web seed; touch "$own/seeded"; }
in_web sign-in >"$own/vars.json"
