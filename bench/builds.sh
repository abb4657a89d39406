#!/bin/bash
# builds.sh: whether one build of longwire is slower than another: read, relay, load, echo and tunnel, in pairs.
#
# builds.sh OLD NEW CAPTURE...: OLD and NEW are binaries. Every round visits both, the old one first in one round and last in the
# next; reported are the medians of the rounds' ratios, new to old, with the lowest and the highest. `read` is time, the others
# are rates: operations a second of `select 1` (pgbench through the relay and the tunnel, `longwire load` on the server itself),
# round trips a second of `longwire echo`.
#
# BENCH_ROUNDS (7) and BENCH_SECONDS (3) a visit change the run. Needs pgbench and an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh
. bench/free-port.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
rounds=${BENCH_ROUNDS:-7}
seconds=${BENCH_SECONDS:-3}
scratch=
processes=()
declare -A build relay tunnel echo

main() {
    [ $# -ge 3 ] || { echo "usage: builds.sh OLD NEW CAPTURE..." >&2; exit 2; }
    if [ -z "${BUILDS_BENCH_SERVERS:-}" ]; then
        cargo build --locked --package longwire-testbed --example with_servers
        BUILDS_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/builds.sh "$@"
    fi
    build=([old]=$(realpath "$1") [new]=$(realpath "$2"))
    shift 2
    scratch=$(mktemp -d)
    trap finish EXIT
    echo 'select 1' >"$scratch/select1.sql"
    start old
    start new
    describe_machine
    echo "rounds    $rounds, $seconds s a visit"
    measure "$@"
    summarise
}

# start NAME: its relay, both ends of its tunnel, and its echo.
start() {
    local longwire=${build[$1]} between
    relay[$1]=$(free_port) tunnel[$1]=$(free_port) echo[$1]=$(free_port) between=$(free_port)
    "$longwire" relay "tcp://127.0.0.1:$PGPORT" --listen "127.0.0.1:${relay[$1]}" >"$scratch/relay-$1" 2>&1 &
    processes+=($!)
    "$longwire" tunnel far --listen "127.0.0.1:$between" --to "127.0.0.1:$PGPORT" >"$scratch/far-$1" 2>&1 &
    processes+=($!)
    "$longwire" echo --listen "127.0.0.1:${echo[$1]}" >"$scratch/echo-$1" 2>&1 &
    processes+=($!)
    until (exec 3<>"/dev/tcp/127.0.0.1/$between") 2>/dev/null; do sleep 0.1; done
    "$longwire" tunnel near --listen "127.0.0.1:${tunnel[$1]}" --to "127.0.0.1:$between" >"$scratch/near-$1" 2>&1 &
    processes+=($!)
    until psql -h 127.0.0.1 -p "${tunnel[$1]}" -qAtc 'select 1' >/dev/null 2>&1; do sleep 0.1; done
    until psql -h 127.0.0.1 -p "${relay[$1]}" -qAtc 'select 1' >/dev/null 2>&1; do sleep 0.1; done
}

measure() {
    local round name order capture
    for ((round = 1; round <= rounds; round++)); do
        order="old new"
        ((round % 2)) || order="new old"
        for capture in "$@"; do
            for name in $order; do visit "read_${capture##*/}" "$(read_of "$name" "$capture")"; done
        done
        for name in $order; do visit relay_1 "$(pgbench_of "${relay[$name]}" 1)"; done
        for name in $order; do visit relay_64 "$(pgbench_of "${relay[$name]}" 64)"; done
        for name in $order; do visit tunnel_1 "$(pgbench_of "${tunnel[$name]}" 1)"; done
        for name in $order; do visit load_8 "$(load_of "$name")"; done
        for name in $order; do visit echo_1 "$(echo_of "$name")"; done
    done
}

# visit WHAT FIGURE
visit() { echo "$1 $round $name $2" >>"$scratch/cells"; }

# Seconds, of as many runs as make about a second.
read_of() {
    local from
    from=$(date +%s%N)
    for _ in 1 2 3; do "${build[$1]}" read "$2" >/dev/null 2>&1; done
    echo "$(($(date +%s%N) - from))"
}

pgbench_of() {
    pgbench -h 127.0.0.1 -p "$1" -n -M prepared -f "$scratch/select1.sql" -c "$2" -j 2 -T "$seconds" 2>/dev/null |
        awk '/^tps/ { print $3 }'
}

load_of() {
    "${build[$1]}" load "postgres://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE" -f "$scratch/select1.sql" -M prepared -c 8 -T "$seconds" --json |
        grep -o '"per_second":[0-9.]*' | head -n 1 | cut -d: -f2
}

echo_of() {
    "${build[$1]}" echo "127.0.0.1:${echo[$1]}" -T "${seconds}s" --json |
        grep -o '"mean_ns":[0-9.]*' | head -n 1 | cut -d: -f2 | awk '{ print 1e9 / $1 }'
}

summarise() {
    python3 - "$scratch/cells" <<'END'
import collections, statistics, sys
cells = collections.defaultdict(dict)
for line in open(sys.argv[1]):
    work, number, name, figure = line.split()
    cells[work, number][name] = float(figure)
ratios = collections.defaultdict(list)
for (work, _), pair in cells.items():
    ratios[work].append(pair["new"] / pair["old"])
for work, found in ratios.items():
    unit = "time" if work.startswith("read") else "rate"
    print(f"{work:<40} {unit} {statistics.median(found):.3f}  ({min(found):.3f} to {max(found):.3f})")
END
}

finish() {
    kill "${processes[@]}" 2>/dev/null || true
    rm -rf "$scratch"
}

main "$@"
