#!/bin/bash
# install.sh: Parse Server from npm. No MongoDB server can be had from a registry: FerretDB answers in its place, built from the Go module proxy, with
# PostgreSQL behind it on the database's host.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
mkdir -p "$PRODUCTS/parse-server/state"
cd "$PRODUCTS/parse-server"
cp "$here/server.mjs" .
npm init -y >/dev/null
npm install parse-server@9.10.0 express@5
module=$(go mod download -json github.com/FerretDB/FerretDB@v1.24.2 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
cp -r "$module" ferretdb-src
chmod -R u+w ferretdb-src
cd ferretdb-src
echo v1.24.2 >build/version/version.txt # a module's archive lacks it
# Parse Server insists on an index that expires documents: taken and ignored, as FerretDB does with `sparse`.
sed -i 's/case "partialFilterExpression", "expireAfterSeconds",/case "expireAfterSeconds":\n\t\tcase "partialFilterExpression",/' internal/handler/msg_createindexes.go
go build -tags ferretdb_no_sqlite -o ../ferretdb ./cmd/ferretdb
