#!/bin/bash
# start.sh: Unleash in $WEB, its PostgreSQL in $DB; seeds it at its first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
start_postgres unleash
cd "$PRODUCTS/unleash"
export DATABASE_URL=postgres://unleash:demo@10.88.2.2:5432/unleash DATABASE_SSL=false CHECK_VERSION=false SEND_TELEMETRY=false LOG_LEVEL=warn
export INIT_ADMIN_API_TOKENS='*:*.demo-admin' INIT_CLIENT_API_TOKENS='default:development.demo-client'
ip netns exec "$WEB" node node_modules/unleash-server/dist/server.js >log 2>&1 &
echo $! >pid
wait_for http://10.88.1.2:4242/health
[ -e seeded ] || { ip netns exec "$WEB" python3 "$here/seed.py"; touch seeded; }
