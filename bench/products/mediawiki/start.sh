#!/bin/bash
# start.sh: MediaWiki in $WEB (nginx, PHP's process manager), its MariaDB in $DB; makes and seeds it at its first start.
# Signs in once for each of four clients: vars.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
state=$PRODUCTS/mediawiki
mkdir -p "$state/nginx"
chmod 755 "$state"
start_mariadb mediawiki
in_web() { ip netns exec "$WEB" "$@"; }

if [ ! -e "$state/LocalSettings.php" ]; then
    in_web php /usr/share/mediawiki/maintenance/install.php --dbserver=10.88.2.2 --dbname=mediawiki --dbuser=mediawiki --dbpass=demo \
        --installdbuser=mediawiki --installdbpass=demo --server=http://10.88.1.2:8000 --scriptpath= --confpath="$state" --skins=Vector \
        --extensions=Cite,CategoryTree,ParserFunctions,WikiEditor --pass=demo-password Wiki Admin >"$state/install.log"
    echo '$wgArticlePath = "/wiki/$1";' >>"$state/LocalSettings.php"
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
env[MW_CONFIG_FILE] = $state/LocalSettings.php
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
        root /usr/share/mediawiki;
        location /wiki/ { rewrite ^ /index.php; }
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
wait_for http://10.88.1.2:8000/wiki/Main_Page
[ -e "$state/seeded" ] || { in_web python3 "$here/seed.py" http://10.88.1.2:8000 seed; touch "$state/seeded"; }
in_web python3 "$here/seed.py" http://10.88.1.2:8000 sign-in >"$state/vars.json"
