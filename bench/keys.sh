#!/bin/bash
# keys.sh: what is seen of a program's TLS connections with the keys of `longwire keys`, next to the same program without TLS.
#
# psql, mariadb, curl, redis-cli, Python, Java, Node.js, PHP and Ruby do the same work (look-ups, a result of 500 rows, a transaction; curl: three pages)
# twice, with servers that speak TLS 1.2 and then 1.3. Both runs are captured; the one with TLS is read with its keys. A row of the table
# is printed only if statements with their fingerprints, rows and turns, and the turns of the login, are the same in both runs, and if
# the plain text of each direction is tshark's to the byte: the comparisons are tests (crates/longwire/tests/live/keys/same_work.rs), and the
# script fails with them. What may differ is TLS itself: its turns have a column of their own.
#
# Needs the right to capture (root), tshark, and scripts/setup.sh test and stacks. Times are not measured: the machine need not be idle.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    npm install --silent --no-audit --no-fund --prefix "$scratch" pg@8.23.0 mysql2@3.22.0 >&2
    export LONGWIRE_NODE_MODULES=$scratch/node_modules
    cargo test --locked --package longwire --features stacks --test live keys::same_work -- --nocapture --test-threads 1 \
        >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    table <"$scratch/log" | tee "$results/keys.txt"
}

table() {
    echo "longwire $(git rev-parse --short HEAD), $(uname -sr), $(openssl version | cut -d' ' -f1,2), $(date -u +%F)"
    echo "statements, turns, rows and turns of the login: the same without TLS and with TLS and keys; plain text: the same as tshark's"
    echo
    sed -n 's/.*same-work | \(.*\) |$/\1/p' | sort | awk -F' [|] ' '
        BEGIN { shape = "%-46s %-14s %-8s %10s %6s %5s %12s %10s %15s %15s\n"
            printf shape, "program", "server", "TLS", "statements", "turns", "rows", "login turns", "TLS turns", "client bytes", "server bytes" }
        { printf shape, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10; rows++ }
        END { print ""; print rows " comparisons, all equal" }'
}

main
