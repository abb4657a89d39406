#!/bin/sh
# object-store.sh: the object store that tests put tables into (Versity's S3 gateway, from its Go module), in the folder of the binary under test. Takes
# two minutes the first time; scripts/cached.sh keeps it.
set -eu
cd "$(dirname "$0")/.."
version=v1.8.0
if [ "${1:-}" = build ]; then
    bin=$(mktemp -d)
    trap 'rm -rf "$bin"' EXIT
    GOBIN=$bin go install -trimpath -ldflags="-s -w -X main.Version=${version#v}" "github.com/versity/versitygw/cmd/versitygw@$version"
    mv "$bin/versitygw" "$OUT"
    exit
fi
scripts/cached.sh versitygw "${CARGO_TARGET_DIR:-$PWD/target}/debug/versitygw" --of "$(go version)" scripts/object-store.sh -- scripts/object-store.sh build
