#!/bin/bash
# relay-api.sh LONGWIRE: what a `latency` of toxiproxy's API adds to the round trips of a connection to Redis, in longwire and in toxiproxy 2.12.0, each
# in turn, five times. The latency is added to one open connection; 61 round trips; printed are medians, in ms, less the median without a toxic.
#
# Needs redis-server, python3 and Go 1.23 or newer (scripts/setup.sh toxiproxy-clients), and an otherwise idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    longwire=$(realpath "${1:-target/release/longwire}")
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    (
        cd "$scratch"
        printf 'module bench\ngo 1.23.0\nrequire github.com/Shopify/toxiproxy/v2 v2.12.0\n' >go.mod
        GOFLAGS=-mod=mod go build -o toxiproxy-server github.com/Shopify/toxiproxy/v2/cmd/server 2>/dev/null
    )
    echo "longwire $("$longwire" --version | head -n 1 | cut -d' ' -f2), toxiproxy 2.12.0, $(uname -sr), $(date -u +%F)"
    for _ in 1 2 3 4 5; do
        echo "load average $(cut -d' ' -f1 /proc/loadavg)"
        python3 bench/relay-api.py "$longwire" "$scratch/toxiproxy-server"
    done
}

main "$@"
