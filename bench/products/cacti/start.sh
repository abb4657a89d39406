#!/bin/bash
# start.sh: Cacti in $WEB (nginx, PHP's process manager), its MariaDB in $DB; makes and seeds the database at its first start.
# Leaves a session of admin's for each of four clients (cookie Cacti=bench0 ... bench3) and their form tokens in vars.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
state=$PRODUCTS/cacti
mkdir -p "$state/sessions" "$state/nginx"
chown www-data "$state/sessions"
chmod 755 "$state"
start_mariadb cacti
sql() { mariadb --no-defaults -S "$state/mariadb/socket" "$@"; }

# the sources of Cacti's command line tools assume that they run beside the database
in_web() { ip netns exec "$WEB" "$@"; }
if [ ! -e "$state/seeded" ]; then
    sql -e 'set global log_bin_trust_function_creators=1'
    mariadb-tzinfo-to-sql /usr/share/zoneinfo 2>/dev/null | sql mysql
    sql cacti </usr/share/cacti/conf_templates/cacti.sql
    cd /usr/share/cacti/cli
    in_web php install_cacti.php --accept-eula --install --force >"$state/install.log" 2>&1
    for number in $(seq 1 30); do
        in_web php add_device.php --description="Router $number" --ip="10.9.0.$number" --template=$((1 + number % 5)) --avail=none --version=0 --disable=1 >>"$state/install.log"
    done
    for number in $(seq 2 20); do
        for template in $(sql cacti -Nse 'select id from graph_templates order by id limit 3'); do
            in_web php add_graphs.php --graph-type=cg --graph-template-id="$template" --host-id="$number" >>"$state/install.log" || true
        done
    done
    sql cacti -e "update user_auth set must_change_password='', password_change='', password=md5('demo') where username='admin';
        replace into settings (name, value) values ('selected_theme', 'modern'), ('log_verbosity', '2'), ('secpass_forceold', '')"
    touch "$state/seeded"
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
php_admin_value[session.save_path] = $state/sessions
php_admin_value[session.gc_maxlifetime] = 86400
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
        location /cacti {
            alias /usr/share/cacti/site;
            index index.php;
            location ~ ^/cacti(/.+\.php)$ {
                include /etc/nginx/fastcgi_params;
                fastcgi_param SCRIPT_FILENAME /usr/share/cacti/site\$1;
                fastcgi_pass unix:$state/fpm.socket;
                fastcgi_read_timeout 120s;
                fastcgi_buffers 64 16k;
            }
        }
    }
}
C
fpm=$(ls /usr/sbin/php-fpm* | tail -n1)
in_web "$fpm" --fpm-config "$state/fpm.conf"
in_web nginx -c "$state/nginx/nginx.conf"
site=http://10.88.1.2:8000/cacti
wait_for $site/index.php

# sign in once, and give each client a copy of the session
jar=$state/jar
rm -f "$jar"
token() { grep -o "sid:[0-9a-f]*,[0-9]*" | head -n1; }
first=$(in_web curl -s -c "$jar" -b "$jar" $site/index.php | token)
in_web curl -s -o /dev/null -c "$jar" -b "$jar" --data-urlencode "__csrf_magic=$first" -d 'action=login&login_username=admin&login_password=demo' $site/index.php
session=$(awk '$6 == "Cacti" {print $7}' "$jar")
{
    printf '{"csrf": ['
    for number in 0 1 2 3; do
        cp -p "$state/sessions/sess_$session" "$state/sessions/sess_bench$number"
        [ $number = 0 ] || printf ', '
        printf '"%s"' "$(in_web curl -s -b "Cacti=bench$number" $site/host.php | token)"
    done
    printf ']}\n'
} >"$state/vars.json"
