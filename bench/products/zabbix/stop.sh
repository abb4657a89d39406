#!/bin/bash
# stop.sh: ends what start.sh started.
here=$(dirname "$0")
. "$here/../database.sh"
. "$here/../php.sh"
state=$PRODUCTS/zabbix
stop_php
stop_mariadb zabbix
sleep 2
