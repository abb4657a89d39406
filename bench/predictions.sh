#!/bin/bash
# predictions.sh: how far predictions of pages are from what the pages took, on five stacks.
#
# Flask (gunicorn, four synchronous workers, psycopg2), Starlette (uvicorn, asyncpg), Express (pg), Java (the JDK's HTTP server, HikariCP,
# pgjdbc) and Go (net/http, pgx), before a private PostgreSQL; two of them over TLS too. Pages: one query; eight, one after another; four at
# once; a transaction. One and four clients in a closed loop. Each is captured with its database beside it, `longwire predict` moves the
# database's connections to links of 5 and 20 ms, and the truth is the program run behind `longwire link`, its client beside it. Captures
# and truth alternate; the next round visits them the other way round.
#
# Arguments go to bench/predictions/run.py: --stacks, --pages, --rtts, --clients, --operations, --rounds; what was measured before
# is kept (--fresh measures it anew), --again only predicts once more. About a minute a stack and round. Needs root (tcpdump, namespaces) and an idle machine; scripts/setup.sh stacks
# installs the rest. Libraries come from PyPI, npm, Maven Central and the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=${LONGWIRE:-$target/release/longwire}
keep=${BENCH_KEEP:-$target/predictions}
[ -n "${LONGWIRE:-}" ] || cargo build --release --locked --package longwire

results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
mkdir -p "$results"
{
    describe_machine
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo
    python3 -B bench/predictions/run.py --longwire "$longwire" --keep "$keep" "$@"
} | tee "$results/${BENCH_NAME:-predictions}.txt"
