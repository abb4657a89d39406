#!/bin/bash
# start.sh: Zabbix' web interface in $WEB (nginx, PHP's process manager), its MariaDB in $DB; makes and seeds the database at its first start.
# Signs in once for each of four clients: cookies and sessions are in vars.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
. "$here/../php.sh"
state=$PRODUCTS/zabbix
mkdir -p "$state/nginx"
chmod 755 "$state"
start_mariadb zabbix

if [ ! -e "$state/schema" ]; then
    mariadb --no-defaults -S "$state/mariadb/socket" -e 'set global log_bin_trust_function_creators=1'
    for part in schema images data; do
        zcat "/usr/share/zabbix-server-mysql/$part.sql.gz" | mariadb --no-defaults -S "$state/mariadb/socket" zabbix
    done
    touch "$state/schema"
fi

start_php /usr/share/zabbix 'php_admin_value[post_max_size] = 16M
php_admin_value[max_execution_time] = 300
php_admin_value[max_input_time] = 300
php_admin_value[memory_limit] = 256M'
wait_for http://10.88.1.2:8000/index.php
[ -e "$state/seeded" ] || { in_web python3 "$here/session.py" http://10.88.1.2:8000 seed; touch "$state/seeded"; }
in_web python3 "$here/session.py" http://10.88.1.2:8000 sign-in >"$state/vars.json"
