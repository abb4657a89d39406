#!/bin/bash
# start.sh STACK: the program in $WEB, its PostgreSQL in $DB, with bench/predictions' tables made at the first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
start_postgres "$1"
psql=(ip netns exec "$WEB" psql -q "postgres://$1:demo@10.88.2.2/$1")
"${psql[@]}" -Atc "select to_regclass('items')" | grep -q items || "${psql[@]}" -f "$here/../../predictions/schema.sql"
PGHOST=10.88.2.2 PGPORT=5432 ip netns exec "$WEB" "$here/program.sh" "$1" >"$PRODUCTS/$1/log" 2>&1 &
echo $! >"$PRODUCTS/$1/pid"
wait_for http://10.88.1.2:8000/
