# Sourced by start.sh of products in PHP: PHP's process manager and nginx in the namespace $WEB, on port 8000. State lies in $state.

in_web() { ip netns exec "$WEB" "$@"; }

# start_php ROOT POOL [LOCATION]: serves the folder ROOT; POOL are settings of the process manager's pool, LOCATION is one of nginx's.
start_php() {
    local fpm
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
$2
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
        root $1;
        index index.php;
        ${3:-}
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
}

# stop_php
stop_php() {
    kill "$(cat "$state/nginx.pid")" "$(cat "$state/fpm.pid")"
}
