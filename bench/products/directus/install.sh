#!/bin/bash
# install.sh: Directus, an interface to a database's tables, from npm; its module isolated-vm is compiled against the installed Node.
set -euo pipefail
. "$(dirname "$0")/../database.sh"
mkdir -p "$PRODUCTS/directus"
cd "$PRODUCTS/directus"
npm init -y >/dev/null
npm install --ignore-scripts --no-audit --no-fund directus@11.1.0 pg
cd node_modules/isolated-vm
npm_config_nodedir=/usr ../.bin/node-gyp rebuild --release
