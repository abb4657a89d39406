#!/bin/bash
# start.sh: Redmine in $WEB (puma, four threads), its PostgreSQL in $DB; makes and seeds the database at its first start.
# Signs in once for each of four clients: cookies, and what a form of sign-in needs, are in vars.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
start_postgres redmine
state=$PRODUCTS/redmine
in_web=(ip netns exec "$WEB" setpriv --reuid=www-data --regid=www-data --clear-groups env RAILS_ENV=production)
touch "$state/log"
chown www-data "$state/log"
cd /usr/share/redmine
if [ ! -e "$state/seeded" ]; then
    "${in_web[@]}" env SCHEMA=/dev/null rake db:migrate >>"$state/log" 2>&1
    "${in_web[@]}" rake redmine:load_default_data REDMINE_LANG=en >>"$state/log" 2>&1
    "${in_web[@]}" bin/rails runner "$here/seed.rb" >>"$state/log" 2>&1
    touch "$state/seeded"
fi
"${in_web[@]}" puma -b tcp://0.0.0.0:3000 -t 4:4 >>"$state/log" 2>&1 &
echo $! >"$state/pid"
wait_for http://10.88.1.2:3000/login
ip netns exec "$WEB" python3 "$here/session.py" >"$state/vars.json"
