#!/bin/bash
# install.sh: Zabbix' web interface, PHP's process manager, nginx and MariaDB from Debian. Writes /etc/zabbix/zabbix.conf.php for the database in $DB.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends zabbix-frontend-php zabbix-server-mysql dbconfig-no-thanks php-fpm php-mysql php-gd php-mbstring php-xml \
    php-bcmath nginx mariadb-server curl
sed "s/'localhost'/'10.88.2.2'/; s/\$DB\['PASSWORD'\]\(\s*\)= ''/\$DB['PASSWORD']\1= 'demo'/" \
    /usr/share/zabbix/conf/zabbix.conf.php.example >/etc/zabbix/zabbix.conf.php
