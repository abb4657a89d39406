#!/bin/bash
# start.sh: Keycloak in $WEB, its PostgreSQL in $DB; seeds it at its first start.
# Signs in once for each of four clients: vars.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
own=$PRODUCTS/keycloak
start_postgres keycloak
ip netns exec "$WEB" env KC_BOOTSTRAP_ADMIN_USERNAME=admin KC_BOOTSTRAP_ADMIN_PASSWORD=demo JAVA_OPTS_KC_HEAP='-Xms256m -Xmx768m' \
    "$own/server/bin/kc.sh" start --optimized --cache=local --http-enabled=true --http-port=8080 --hostname-strict=false \
    --db-url=jdbc:postgresql://10.88.2.2/keycloak --db-username=keycloak --db-password=demo >"$own/log" 2>&1 &
echo $! >"$own/pid"
wait_for http://10.88.1.2:8080/realms/master
in_web() { ip netns exec "$WEB" python3 "$here/seed.py" http://10.88.1.2:8080 "$@"; }
[ -s "$own/APP.json" ] || in_web seed "$here/APP.json" >"$own/APP.json"
in_web sign-in >"$own/vars.json"
