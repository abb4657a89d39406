#!/bin/bash
# install.sh: Ory Hydra, an OAuth2 server, built from the Go module proxy.
set -euo pipefail
. "$(dirname "$0")/../database.sh"
mkdir -p "$PRODUCTS/hydra"
cd "$PRODUCTS/hydra"
module=$(go mod download -json github.com/ory/hydra/v2@v2.3.0 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
cp -r "$module" src
chmod -R u+w src
cd src
# The module's own client is a folder that a module's archive leaves out.
sed -i 's#^replace github.com/ory/hydra-client-go/v2 => .*#replace github.com/ory/hydra-client-go/v2 => github.com/ory/hydra-client-go/v2 v2.2.1#' go.mod
go build -mod=mod -o ../hydra.bin .
