#!/bin/bash
# start.sh: Hydra in $WEB, its PostgreSQL in $DB; seeds it at its first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
own=$PRODUCTS/hydra
export DSN='postgres://hydra:demo@10.88.2.2:5432/hydra?sslmode=disable' SECRETS_SYSTEM=a-secret-for-demonstration-only SQA_OPT_OUT=true
export URLS_SELF_ISSUER=http://10.88.1.2:4444/ URLS_LOGIN=http://10.88.1.2:3000/login URLS_CONSENT=http://10.88.1.2:3000/consent
start_postgres hydra
cd "$own"
# Hydra takes a variable DB for its own.
ip netns exec "$WEB" env -u DB ./hydra.bin migrate sql up -y "$DSN" >migrate.log 2>&1
ip netns exec "$WEB" env -u DB ./hydra.bin serve all --dev >log 2>&1 &
echo $! >pid
wait_for http://10.88.1.2:4445/health/ready
[ -s APP.json ] || ip netns exec "$WEB" python3 "$here/seed.py" "$here/APP.json" >APP.json
