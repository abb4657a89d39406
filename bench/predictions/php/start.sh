#!/bin/sh
# start.sh FOLDER: nginx on PORT before four php-fpm workers that run FOLDER/page.php; both end when it is terminated
# (php-fpm leaves the process group).
set -eu
folder=$1
cat >"$folder/fpm.conf" <<END
[global]
error_log = /dev/stderr
daemonize = no
[www]
listen = $folder/fpm.sock
listen.mode = 0666
user = ${FPM_USER:-www-data}
pm = static
pm.max_children = 4
clear_env = no
END
cat >"$folder/nginx.conf" <<END
daemon off;
user root;
pid $folder/nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path $folder/body;
    fastcgi_temp_path $folder/fastcgi;
    proxy_temp_path $folder/proxy;
    scgi_temp_path $folder/scgi;
    uwsgi_temp_path $folder/uwsgi;
    server {
        listen 127.0.0.1:$PORT;
        location / {
            fastcgi_pass unix:$folder/fpm.sock;
            fastcgi_param SCRIPT_FILENAME $folder/page.php;
            fastcgi_param REQUEST_URI \$request_uri;
            fastcgi_param REQUEST_METHOD \$request_method;
            fastcgi_param CONTENT_LENGTH \$content_length;
        }
    }
}
END
PATH=$PATH:/usr/sbin
fpm=$(ls /usr/sbin/php-fpm* | head -n 1)
"$fpm" --allow-to-run-as-root --nodaemonize --fpm-config "$folder/fpm.conf" &
fpm=$!
nginx -e stderr -c "$folder/nginx.conf" &
nginx=$!
trap 'kill $fpm $nginx 2>/dev/null; wait' TERM INT
wait
