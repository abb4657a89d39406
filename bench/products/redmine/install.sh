#!/bin/bash
# install.sh: Redmine and puma from Debian. Writes /etc/redmine/default/database.yml for the database in $DB.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends redmine redmine-pgsql dbconfig-no-thanks puma postgresql curl
cat >/etc/redmine/default/database.yml <<C
production:
  adapter: postgresql
  host: 10.88.2.2
  database: redmine
  username: redmine
  password: demo
  encoding: utf8
C
