#!/bin/bash
# install.sh: Cacti, PHP's process manager, nginx and MariaDB from Debian. Writes /etc/cacti/debian.php for the database in $DB.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends cacti dbconfig-no-thanks php-fpm php-mysql php-intl php-gmp php-gd php-mbstring php-xml php-ldap php-snmp snmp rrdtool nginx mariadb-server curl
sed "s/_DBC_DBNAME_/cacti/; s/_DBC_DBSERVER_/10.88.2.2/; s/_DBC_DBUSER_/cacti/; s/_DBC_DBPASS_/demo/; s/_DBC_DBPORT_/3306/" \
    /usr/share/cacti/conf_templates/debian.php.dist >/etc/cacti/debian.php
chgrp www-data /etc/cacti/debian.php
