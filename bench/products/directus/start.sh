#!/bin/bash
# start.sh: Directus in $WEB, its PostgreSQL in $DB; seeds it at its first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
start_postgres directus
cd "$PRODUCTS/directus"
mkdir -p uploads extensions
export HOST=0.0.0.0 PORT=8055 PUBLIC_URL=http://10.88.1.2:8055 SECRET=demo ADMIN_EMAIL=admin@example.org ADMIN_PASSWORD=demodemo
export DB_CLIENT=pg DB_HOST=10.88.2.2 DB_PORT=5432 DB_DATABASE=directus DB_USER=directus DB_PASSWORD=demo TELEMETRY=false LOG_LEVEL=warn
[ -e seeded ] || ip netns exec "$WEB" node node_modules/directus/cli.js bootstrap >log 2>&1
ip netns exec "$WEB" node node_modules/directus/cli.js start >>log 2>&1 &
echo $! >pid
wait_for http://10.88.1.2:8055/server/ping
[ -e seeded ] || { ip netns exec "$WEB" python3 "$here/seed.py"; touch seeded; }
