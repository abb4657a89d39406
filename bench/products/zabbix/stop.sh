#!/bin/bash
# stop.sh: ends what start.sh started.
. "$(dirname "$0")/../database.sh"
kill "$(cat "$PRODUCTS/zabbix/nginx.pid")" "$(cat "$PRODUCTS/zabbix/fpm.pid")"
stop_mariadb zabbix
sleep 2
