#!/bin/bash
# start.sh: Zabbix' web interface in $WEB (nginx, PHP's process manager), its MariaDB in $DB; makes and seeds the database at its first start.
# Signs in once for each of four clients: cookies and sessions are in vars.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
state=$PRODUCTS/zabbix
mkdir -p "$state/nginx"
chmod 755 "$state"
start_mariadb zabbix
in_web() { ip netns exec "$WEB" "$@"; }

if [ ! -e "$state/schema" ]; then
    mariadb --no-defaults -S "$state/mariadb/socket" -e 'set global log_bin_trust_function_creators=1'
    for part in schema images data; do
        zcat "/usr/share/zabbix-server-mysql/$part.sql.gz" | mariadb --no-defaults -S "$state/mariadb/socket" zabbix
    done
    touch "$state/schema"
fi

cat >"$state/fpm.conf" <<C
[global]
pid = $state/fpm.pid
error_log = $state/fpm.log
[www]
user = www-data
group = www-data
listen = $state/fpm.socket
listen.owner = www-data
pm = static
pm.max_children = 4
php_admin_value[post_max_size] = 16M
php_admin_value[max_execution_time] = 300
php_admin_value[max_input_time] = 300
php_admin_value[memory_limit] = 256M
C
cat >"$state/nginx/nginx.conf" <<C
user www-data;
worker_processes 1;
pid $state/nginx.pid;
error_log $state/nginx/error.log;
events {}
http {
    include /etc/nginx/mime.types;
    access_log off;
    keepalive_requests 100000;
    server {
        listen 8000;
        root /usr/share/zabbix;
        index index.php;
        location ~ \.php$ {
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name;
            fastcgi_pass unix:$state/fpm.socket;
            fastcgi_read_timeout 120s;
            fastcgi_buffers 64 16k;
        }
    }
}
C
fpm=$(ls /usr/sbin/php-fpm* | tail -n1)
in_web "$fpm" --fpm-config "$state/fpm.conf"
in_web nginx -c "$state/nginx/nginx.conf"
wait_for http://10.88.1.2:8000/index.php
[ -e "$state/seeded" ] || { in_web python3 "$here/session.py" http://10.88.1.2:8000 seed; touch "$state/seeded"; }
in_web python3 "$here/session.py" http://10.88.1.2:8000 sign-in >"$state/vars.json"
