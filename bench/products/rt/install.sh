#!/bin/bash
# install.sh: Request Tracker 5 and its PSGI server from Debian.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends request-tracker5 rt5-db-postgresql dbconfig-no-thanks starman curl
