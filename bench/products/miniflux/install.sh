#!/bin/bash
# install.sh: Miniflux, built from the Go module proxy.
set -euo pipefail
. "$(dirname "$0")/../database.sh"
mkdir -p "$PRODUCTS/miniflux"
GOBIN=$PRODUCTS/miniflux go install miniflux.app/v2@v2.3.5
