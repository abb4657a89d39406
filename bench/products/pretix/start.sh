#!/bin/bash
# start.sh: pretix in $WEB (gunicorn, four threads), its PostgreSQL in $DB; makes and seeds the database at its first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
start_postgres pretix
state=$PRODUCTS/pretix
python=$state/v/bin/python
export PRETIX_CONFIG_FILE=$state/pretix.cfg
mkdir -p "$state/data"
cat >"$PRETIX_CONFIG_FILE" <<C
[pretix]
instance_name=bench
url=http://10.88.1.2:8000
datadir=$state/data
trust_x_forwarded_for=off
[database]
backend=postgresql
name=pretix
user=pretix
password=demo
host=10.88.2.2
[mail]
from=bench@example.org
host=127.0.0.1
[django]
debug=off
C
if [ ! -e "$state/seeded" ]; then
    ip netns exec "$WEB" "$python" -m pretix migrate >"$state/migrate.log" 2>&1
    ip netns exec "$WEB" "$python" -m pretix shell -c "exec(compile(open('$here/seed.py').read(), 'seed.py', 'exec'), {})" >"$state/seed.log" 2>&1
    touch "$state/seeded"
fi
ip netns exec "$WEB" "$state/v/bin/gunicorn" pretix.wsgi --bind 0.0.0.0:8000 --workers 1 --threads 4 --timeout 120 --keep-alive 60 >"$state/log" 2>&1 &
echo $! >"$state/pid"
wait_for http://10.88.1.2:8000/control/login
