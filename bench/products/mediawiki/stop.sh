#!/bin/bash
# stop.sh: ends what start.sh started.
here=$(dirname "$0")
. "$here/../database.sh"
. "$here/../php.sh"
state=$PRODUCTS/mediawiki
stop_php
stop_mariadb mediawiki
sleep 2
