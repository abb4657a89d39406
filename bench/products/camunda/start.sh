#!/bin/bash
# start.sh: Camunda in $WEB, its PostgreSQL in $DB; seeds it at its first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
start_postgres camunda
ip netns exec "$WEB" java -Xmx768m -jar "$PRODUCTS/camunda/build/target/camunda-1.jar" \
    --server.port=8000 --spring.datasource.url=jdbc:postgresql://10.88.2.2/camunda \
    --spring.datasource.username=camunda --spring.datasource.password=demo \
    >"$PRODUCTS/camunda/log" 2>&1 &
echo $! >"$PRODUCTS/camunda/pid"
wait_for http://127.0.0.1:8000/engine-rest/engine
[ -e "$PRODUCTS/camunda/seeded" ] || { ip netns exec "$WEB" python3 "$here/seed.py" http://127.0.0.1:8000/engine-rest; touch "$PRODUCTS/camunda/seeded"; }
