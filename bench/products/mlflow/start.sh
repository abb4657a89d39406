#!/bin/bash
# start.sh: MLflow's tracking server in $WEB with its four worker processes, its PostgreSQL in $DB; seeds it at its first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
own=$PRODUCTS/mlflow
start_postgres mlflow
cd "$own"
MLFLOW_DISABLE_TELEMETRY=true ip netns exec "$WEB" setsid v/bin/mlflow server --backend-store-uri postgresql://mlflow:demo@10.88.2.2/mlflow \
    --artifacts-destination "$own/artifacts" --host 0.0.0.0 --port 5000 --allowed-hosts '*' >"$own/log" 2>&1 &
echo $! >"$own/pid"
wait_for http://10.88.1.2:5000/health
[ -s "$own/APP.json" ] || ip netns exec "$WEB" python3 "$here/seed.py" "$here/APP.json" >"$own/APP.json"
