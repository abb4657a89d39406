#!/bin/bash
# attribution.sh: how many statements are assigned to the request that caused them, by programs that write their request's number into
# every statement.
#
# Threads (gunicorn, psycopg2), event loops (uvicorn with asyncpg, Node with pg) and Go (pgx), with a pool of eight connections, at 1, 4, 16
# and 64 requests at once; without identifiers, and with a traceparent that the program passes on. /held and the threads' pages keep a
# connection for their request, /each takes one for each statement.
#
# Arguments go to bench/attribution/run.py: --cells, --at-once, --pool, --requests; --again only assigns again. Needs root (tcpdump);
# scripts/setup.sh stacks installs the rest.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=${LONGWIRE:-$target/release/longwire}
keep=${BENCH_KEEP:-$target/predictions}
[ -n "${LONGWIRE:-}" ] || cargo build --release --locked --package longwire

results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
mkdir -p "$results"
python3 -B bench/attribution/run.py --longwire "$longwire" --keep "$keep" "$@" | tee "$results/attribution.txt"
