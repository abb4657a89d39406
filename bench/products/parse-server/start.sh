#!/bin/bash
# start.sh: Parse Server in $WEB, FerretDB and its PostgreSQL in $DB; seeds it at its first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
start_postgres ferret
cd "$PRODUCTS/parse-server"
ip netns exec "$DB" ./ferretdb --listen-addr=0.0.0.0:27017 --postgresql-url=postgres://ferret:demo@127.0.0.1:5432/ferret --state-dir="$PWD/state" \
    --telemetry=disable --log-level=ERROR >ferretdb.log 2>&1 &
echo $! >ferretdb.pid
sleep 2
ip netns exec "$WEB" node server.mjs >log 2>&1 &
echo $! >pid
wait_for http://10.88.1.2:1337/parse/health
[ -s APP.json ] || ip netns exec "$WEB" python3 "$here/seed.py" "$here/APP.json" >APP.json
