#!/bin/sh
# collector.sh: builds the collector of OpenTelemetry that tests export to, from its Go modules (crates/testbed/collector), into the folder of the binary
# under test. Takes two minutes the first time, and seconds when it is there.
set -eu
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-$PWD/target}"
mkdir -p "$target/debug"
cd crates/testbed/collector
go build -mod=readonly -trimpath -ldflags='-s -w' -o "$target/debug/otelcol" .
