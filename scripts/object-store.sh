#!/bin/sh
# object-store.sh: builds the object store that tests put tables into (Versity's S3 gateway, from its Go module), into the folder of the binary under
# test. Takes two minutes the first time, and nothing when it is there.
set -eu
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-$PWD/target}"
version=v1.8.0
mkdir -p "$target/debug"
"$target/debug/versitygw" --version 2>/dev/null | grep -qF "${version#v}" ||
    GOBIN="$(cd "$target/debug" && pwd)" go install -trimpath -ldflags="-s -w -X main.Version=${version#v}" "github.com/versity/versitygw/cmd/versitygw@$version"
