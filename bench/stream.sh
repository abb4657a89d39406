#!/bin/bash
# stream.sh: how exact the emulated link at stream level (`longwire relay --link`) is, beside the packet level
# (`longwire link`) where this user may make one.
#
# 1. Round trips of `select 1` over one connection (pgbench), at round trips from 1 to 200 ms: how much longer they are than the
#    same statement straight to the server plus what was asked. Median and 99th percentile, the self-check of the run beside.
# 2. A result of 10 MB over 10 Mbit/s and 40 ms: stream level and packet level in turn, medians and their ratio.
#
# BENCH_ROUND_TRIPS (200) a distance, BENCH_ROUNDS (3) of the bulk part, BENCH_DISTANCES change the run.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=${LONGWIRE:-$target/release/longwire}
round_trips=${BENCH_ROUND_TRIPS:-200}
rounds=${BENCH_ROUNDS:-3}
read -ra distances <<<"${BENCH_DISTANCES:-1 2 5 10 20 40 100 200}"
scratch=

main() {
    if [ -z "${STREAM_BENCH_SERVERS:-}" ]; then
        [ -n "${LONGWIRE:-}" ] || cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        STREAM_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/stream.sh
    fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; measure_round_trips; measure_bulk; } | tee "$results/stream.txt"
}

describe() {
    echo "date      $(date -u +%FT%TZ)"
    echo "host      $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), Linux $(uname -r | cut -d- -f1); load $(cut -d' ' -f1-3 /proc/loadavg)"
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo
}

measure_round_trips() {
    echo 'select 1' >"$scratch/select1.sql"
    local direct distance median p99
    direct=$(pings 2000 | cut -d' ' -f1)
    echo "select 1 straight to the server: $direct us (median of 2000)"
    echo "rtt asked   median error   p99 error   self-check of the run"
    for distance in "${distances[@]}"; do
        read -r median p99 < <(pings "$round_trips" "$longwire" relay "postgres://127.0.0.1:$PGPORT" --link "rtt=${distance}ms" --)
        printf '%6d ms   %9d us  %7d us   %s\n' "$distance" "$((median - direct - distance * 1000))" \
            "$((p99 - direct - distance * 1000))" "$(sed -n 's/^Link .*ms: //p' "$scratch/said")"
    done
    echo
}

# pings N [COMMAND...]: median and 99th percentile of N statements, behind the command; in microseconds.
pings() {
    local count=$1
    shift
    rm -f "$scratch"/pgbench_log.*
    (cd "$scratch" && "$@" pgbench -n -f select1.sql -c 1 -t "$((count + 1))" -l >/dev/null 2>said)
    # The first statement is also the first use of the session.
    awk 'NR > 1 { print $3 }' "$scratch"/pgbench_log.* | sort -n |
        awk '{ took[NR] = $1 } END { print took[int((NR + 1) / 2)], took[int(NR * 0.99 + 0.5)] }'
}

measure_bulk() {
    local link='rtt=40ms rate=10mbit' packet_level=yes
    psql -q -c "create table big as select i, repeat('x', 1000) t from generate_series(1, 10000) i"
    echo "10 MB over $link, psql from start to end, $rounds rounds in turn"
    if ! "$longwire" link rtt=0ms -- true >/dev/null 2>"$scratch/refused"; then
        packet_level=no
        echo "no packet level here: $(head -n 1 "$scratch/refused")"
    fi
    for _ in $(seq "$rounds"); do
        seconds "$longwire" relay "postgres://127.0.0.1:$PGPORT" --link "$link" -- >>"$scratch/stream"
        [ "$packet_level" = no ] || seconds "$longwire" link "$link" --forward "$PGPORT" -- >>"$scratch/packet"
    done
    local stream packet
    stream=$(median "$scratch/stream")
    echo "stream level: $stream s ($(tr '\n' ' ' <"$scratch/stream"))"
    [ -s "$scratch/packet" ] || return 0
    packet=$(median "$scratch/packet")
    echo "packet level: $packet s ($(tr '\n' ' ' <"$scratch/packet"))"
    awk -v stream="$stream" -v packet="$packet" 'BEGIN { printf "stream / packet: %.4f\n", stream / packet }'
}

# seconds COMMAND...: what psql takes behind the command, in its own network.
seconds() {
    "$@" bash -c 'begin=$EPOCHREALTIME; psql -X -q -A -t -h 127.0.0.1 -c "table big" | wc -c >&2; end=$EPOCHREALTIME
        awk -v begin="$begin" -v end="$end" "BEGIN { printf \"%.3f\n\", end - begin }"' 2>/dev/null
}

median() {
    sort -n "$1" | awk '{ took[NR] = $1 } END { print took[int((NR + 1) / 2)] }'
}

main "$@"
