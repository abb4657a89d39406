#!/bin/bash
# install.sh: MediaWiki, PHP's process manager, nginx and MariaDB from Debian.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends mediawiki php-fpm php-mysql php-mbstring php-intl php-xml php-apcu nginx mariadb-server curl
