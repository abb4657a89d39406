#!/bin/bash
# install.sh: Unleash, a server of feature flags, from npm.
set -euo pipefail
. "$(dirname "$0")/../database.sh"
mkdir -p "$PRODUCTS/unleash"
cd "$PRODUCTS/unleash"
npm init -y >/dev/null
npm install unleash-server@7.5.1
