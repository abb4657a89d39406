#!/bin/bash
# start.sh: Request Tracker in $WEB (starman, four processes), its PostgreSQL in $DB; makes and seeds the database at its first start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
start_postgres rt
state=$PRODUCTS/rt
export RT_SITE_CONFIG=$state/RT_SiteConfig.pm RT_SITE_CONFIG_DIR=$state/none
mkdir -p "$RT_SITE_CONFIG_DIR"
cat >"$RT_SITE_CONFIG" <<'C'
Set($rtname, 'bench');
Set($Organization, 'example.org');
Set($WebDomain, '10.88.1.2');
Set($WebPort, 8000);
Set($WebPath, '');
Set($DatabaseType, 'Pg');
Set($DatabaseHost, '10.88.2.2');
Set($DatabaseName, 'rt');
Set($DatabaseUser, 'rt');
Set($DatabasePassword, 'demo');
Set($LogToSTDERR, 'warning');
Set($LogToSyslog, undef);
Set($MailCommand, 'mbox');
Set($RestrictReferrer, 0);
Set($DevelMode, 0);
1;
C
if [ ! -e "$state/seeded" ]; then
    ip netns exec "$WEB" rt-setup-database-5 --action init --dba rt --dba-password demo --skip-create </dev/null >"$state/setup.log" 2>&1
    ip netns exec "$WEB" perl -I/usr/share/request-tracker5/lib "$here/seed.pl"
    touch "$state/seeded"
fi
ip netns exec "$WEB" starman --listen 0.0.0.0:8000 --workers 4 --preload-app --disable-proxy -I/usr/share/request-tracker5/lib \
    /usr/share/request-tracker5/libexec/rt-server >"$state/log" 2>&1 &
echo $! >"$state/pid"
wait_for http://127.0.0.1:8000/
