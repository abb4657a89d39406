#!/bin/sh
# collector.sh: the collector of OpenTelemetry that tests export to, from its Go modules (crates/testbed/collector), in the folder of the binary under
# test. Takes two minutes the first time; scripts/cached.sh keeps it.
set -eu
cd "$(dirname "$0")/.."
if [ "${1:-}" = build ]; then
    cd crates/testbed/collector
    exec go build -mod=readonly -trimpath -ldflags='-s -w' -o "$OUT" .
fi
scripts/cached.sh otelcol "${CARGO_TARGET_DIR:-$PWD/target}/debug/otelcol" --of "$(go version)" crates/testbed/collector scripts/collector.sh -- scripts/collector.sh build
