#!/bin/bash
# interface.sh: what `longwire watch --interface lo` costs an application beside `longwire watch` as a relay, and beside tcpdump, which
# decodes nothing: what it costs is the kernel's share.
#
# pgbench sends select-only transactions and `select 1` over 1, 8 and 64 connections: unobserved, observed at the interface, seen by tcpdump, and through the relay. Every round
# visits every way, so that the ratios are of neighbours in time; reported are medians of the rounds' ratios, and longwire's processor time for
# each transaction. Then 1 Gbit/s of bulk and 100,000 packets a second pass the loopback, and the packets that were dropped are counted.
#
# BENCH_ROUNDS (15), BENCH_SECONDS (1) a cell, BENCH_CLIENTS ("1 8 64"), BENCH_FLOOD_SECONDS (10) change the run. Needs root or the right to capture.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/free-port.sh
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
rounds=${BENCH_ROUNDS:-15}
seconds=${BENCH_SECONDS:-1}
flood_seconds=${BENCH_FLOOD_SECONDS:-10}
read -ra clients <<<"${BENCH_CLIENTS:-1 8 64}"
profile=${BENCH_PROFILE:-release}
longwire=$target/$profile/longwire
ways=(unobserved interface tcpdump relay)
scratch=

main() {
    if [ -z "${INTERFACE_BENCH_SERVERS:-}" ]; then
        [ "$profile" = release ] && cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        INTERFACE_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/interface.sh
    fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    echo 'select 1' >"$scratch/select1.sql"
    pgbench -i -q -s 10 >"$scratch/init.txt" 2>&1
    results=${BENCH_RESULTS:-measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)}
    mkdir -p "$results"
    { describe; measure_transactions; measure_bulk; measure_packets; } | tee "$results/interface.txt"
}

describe() {
    describe_machine
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD), $profile"
    echo "server    $(psql -qAtc 'show server_version'), pgbench on the same host over loopback"
    echo "rounds    $rounds of $seconds s a cell; every round visits every way"
    echo
}

# Runs longwire's `watch` with the arguments behind the name, then `work` with the port to connect to, and ends it. Leaves its processor
# time in ticks in $ticks and what it wrote in $scratch/NAME.jsonl.
observed() {
    local way=$1 work=$2 process port=$PGPORT
    ticks=0
    case $way in
    unobserved) "$work" "$port"; return ;;
    interface) "$longwire" watch --interface lo --port "$PGPORT" --json --quiet >"$scratch/$way.jsonl" 2>"$scratch/$way.txt" & ;;
    tcpdump) tcpdump -i lo -B 65536 -w /dev/null port "$PGPORT" 2>"$scratch/$way.txt" & ;;
    relay)
        port=$(free_port)
        "$longwire" watch "postgres://127.0.0.1:$PGPORT/?sslmode=disable" --listen "127.0.0.1:$port" --json --quiet \
            >"$scratch/$way.jsonl" 2>"$scratch/$way.txt" &
        ;;
    esac
    process=$!
    until grep -qE 'Ctrl-C ends|^tcpdump: listening' "$scratch/$way.txt"; do
        kill -0 "$process" || { cat "$scratch/$way.txt"; exit 1; }
        sleep 0.05
    done
    "$work" "$port"
    ticks=$(sed 's/.*) //' "/proc/$process/stat" | awk '{ print $12 + $13 }')
    kill -INT "$process"
    wait "$process" || true
}

transactions() {
    pgbench -n -p "$1" -c "$count" -j 2 -T "$seconds" "${script[@]}" >"$scratch/pgbench.txt" 2>&1
    done_transactions=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$scratch/pgbench.txt")
    tps=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$scratch/pgbench.txt")
}

measure_transactions() {
    local kind round way
    printf '%-12s %7s  %-10s %10s %8s %14s\n' work clients way tps ratio 'us/transaction'
    for kind in select-only 'select 1'; do
        script=(-S)
        [ "$kind" = 'select 1' ] && script=(-f "$scratch/select1.sql")
        for count in "${clients[@]}"; do
            : >"$scratch/cells.txt"
            for ((round = 0; round < rounds; round++)); do
                for way in "${ways[@]}"; do
                    observed "$way" transactions
                    echo "$round $way $tps $(awk -v t="$ticks" -v n="$done_transactions" -v hz="$(getconf CLK_TCK)" \
                        'BEGIN { print t / hz * 1e6 / n }')" >>"$scratch/cells.txt"
                done
            done
            for way in "${ways[@]}"; do
                printf '%-12s %7s  %-10s %10.0f %8.3f %14.1f\n' "$kind" "$count" "$way" \
                    "$(column "$way" 3)" "$(ratio "$way")" "$(column "$way" 4)"
            done
        done
    done
    echo
}

# Median of a column over the rounds of a way.
column() { awk -v way="$1" -v at="$2" '$2 == way { print $at }' "$scratch/cells.txt" | median; }

# Median over the rounds of a way's throughput over that of the unobserved neighbour.
ratio() {
    awk -v way="$1" '$2 == "unobserved" { base[$1] = $3 } $2 == way { of[$1] = $3 } END { for (r in of) print of[r] / base[r] }' \
        "$scratch/cells.txt" | median
}

median() { sort -g | awk '{ all[NR] = $1 } END { print NR % 2 ? all[(NR + 1) / 2] : (all[NR / 2] + all[NR / 2 + 1]) / 2 }'; }

# What the observation says of packets, and of drops.
report_drops() {
    local packets dropped
    packets=$(grep -o '"packets":[0-9]*' "$scratch/interface.jsonl" | tail -n 1 | cut -d: -f2 || true)
    dropped=$(grep -o '[0-9]* of [0-9]* packets were dropped' "$scratch/interface.jsonl" | head -n 1 || true)
    echo "$1 for $flood_seconds s: ${packets:-no} packets seen ($((${packets:-0} / flood_seconds)) a second), ${dropped:-none dropped}, processor time $(awk -v t="$ticks" -v hz="$(getconf CLK_TCK)" 'BEGIN { print t / hz }') s"
}

bulk() { "$scratch/flood" bulk "$flood_seconds"; }
packets() { "$scratch/flood" packets "$flood_seconds"; }

# A sender and a receiver at a given pace: 1 Gbit/s of payload in writes of 16 KiB, or 100,000 packets a second of one byte each, beside which there are few acknowledgements.
write_flood() {
    cat >"$scratch/flood" <<'PYTHON'
#!/usr/bin/python3
import os, socket, sys, time
kind, seconds = sys.argv[1], float(sys.argv[2])
port = int(os.environ["FLOOD_PORT"])
listener = socket.create_server(("127.0.0.1", port))
size, per_second = (16384, 125_000_000 / 16384) if kind == "bulk" else (1, 100_000)
if os.fork() == 0:
    peer, _ = listener.accept()
    room = bytearray(1 << 20)
    while peer.recv_into(room):
        pass
    os._exit(0)
client = socket.create_connection(("127.0.0.1", port))
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
data, sent, began = b"x" * size, 0, time.monotonic()
while (now := time.monotonic() - began) < seconds:
    while sent < now * per_second:
        client.sendall(data)
        sent += 1
    time.sleep(0.0005)
client.close()
os.wait()
PYTHON
    chmod +x "$scratch/flood"
}

# As `observed` at the interface, of the flood's own port.
flooded() {
    local saved=$PGPORT
    FLOOD_PORT=$(free_port)
    export FLOOD_PORT
    [ -x "$scratch/flood" ] || write_flood
    PGPORT=$FLOOD_PORT observed interface "$1"
    PGPORT=$saved
}

measure_bulk() { flooded bulk; report_drops "1 Gbit/s"; }
measure_packets() { flooded packets; report_drops "100,000 writes of one byte a second"; }

main
