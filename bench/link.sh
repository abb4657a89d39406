#!/bin/bash
# link.sh: how exactly emulated links do what they are asked, at packet level, on this machine.
#
# Prints asked beside realised: round trips (ping, and `select 1` through `longwire link`), ten nested links, rates shared by
# 1, 8 and 64 connections, a small packet on a slow link, packets per second, throughput, losses by seed, `longwire ping` beside
# ping at the same pace; then starts and kills links and counts what is left. Needs root (or rights as docs/links.md says), PostgreSQL and ping
# (scripts/setup.sh test), and an idle machine: everything else that runs is seen in the figures.
#
# BENCH_SELECTS (1000) a round trip, BENCH_KILLS (100), BENCH_SECTIONS ("rtt serialisation rate packets throughput one-core loss
# select pace nested kills"), BENCH_RATES ("64kbit 1mbit 10mbit 100mbit 1gbit"), BENCH_CONGESTION (the
# system's; cubic, bbr, reno; between the hosts of sections other than select and pace) change the run.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=$target/release/longwire
bench=$target/release/examples/link_bench
selects=${BENCH_SELECTS:-1000}
kills=${BENCH_KILLS:-100}
read -ra sections <<<"${BENCH_SECTIONS:-rtt serialisation rate packets throughput one-core loss select pace nested kills}"

main() {
    if [ -z "${LINK_BENCH_SERVERS:-}" ]; then
        cargo build --release --locked --package longwire
        cargo build --release --locked --package longwire-netns --example link_bench
        cargo build --locked --package longwire-testbed --example with_servers
        LINK_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/link.sh
    fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; for section in "${sections[@]}"; do echo; "section_$section"; done; } | tee "$results/link.txt"
}

describe() {
    echo "longwire link, packet level: $(date -u +%F), $(nproc) CPUs, $(uname -sr), load $(cut -d' ' -f1-3 /proc/loadavg)"
    sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
    echo "TCP sends as ${BENCH_CONGESTION:-$(sysctl -n net.ipv4.tcp_congestion_control)} says"
}

section_rtt() { "$bench" rtt; }
section_serialisation() { "$bench" serialisation; }
section_rate() { "$bench" rate; }
section_packets() { "$bench" packets; }
section_throughput() { "$bench" throughput; }
section_loss() { "$bench" loss; }

section_one-core() {
    echo "the same with everything on one core, both hosts' TCP and the processes among it:"
    taskset -c 0 "$bench" throughput
}

# Median and p99 of `select 1` in microseconds: COUNT PAUSE_MS [COMMAND...].
select_times() {
    local count=$1 pause=$2
    shift 2
    "$@" "$bench" select "$PGUSER" "$PGPORT" "$count" "$pause"
}

# The error is what exchanges over the link take beyond its round trip and the same exchange straight to the server. How long that
# takes after a pause is shown beside it: a machine that has slept answers later, with a link or without one.
section_select() {
    local rtt straight paused median p99 rest
    read -r straight rest < <(select_times "$selects" 0)
    echo "select 1 straight to the server: $straight us (p99 $rest us)"
    echo "select 1      times  straight after such a pause  over the link (p99)       median error  p99 error  median error beyond the paused one"
    for rtt in 0 1 5 10 40 100 200; do
        local count=$selects
        [ "$rtt" -lt 40 ] || count=$((selects / 4))
        read -r paused rest < <(select_times "$count" "$rtt")
        read -r median p99 < <(select_times "$count" 0 "$longwire" link "rtt=${rtt}ms" --forward "$PGPORT" --quiet --)
        printf 'rtt=%-8s %6s  %24s us  %16s us (%6s)  %9s us  %6s us  %9s us\n' "${rtt}ms" "$count" "$paused" "$median" "$p99" \
            $((median - straight - rtt * 1000)) $((p99 - straight - rtt * 1000)) $((median - paused - rtt * 1000))
    done
}

# Ten a second, both over the same link at the same time: a machine that sleeps between them does so for both. Of longwire's the round trip,
# without the time that the server reports.
section_pace() {
    local rtt url="postgres://$PGUSER@127.0.0.1:$PGPORT/$PGDATABASE"
    echo "ten a second for 10 s        ping (p99)   longwire ping (p99)      beyond it   its floor"
    for rtt in 500us 1ms 2ms 5ms; do
        "$longwire" link "rtt=$rtt" --forward "$PGPORT" --quiet -- sh -c '
            ping -n -i 0.1 -c 100 "$LONGWIRE_GATEWAY" >"$1/icmp" &
            "$0" ping "$2" -i 100ms -n 100 --json >"$1/ping"
            wait' "$longwire" "$scratch" "$url"
        echo "rtt=$rtt" \
            "$(sed -n 's/.*time=\([0-9.]*\) ms.*/\1e6/p' "$scratch/icmp" | ranks)" \
            "$(sed -n '/"first":false/s/.*"round_trip_ns":\([0-9]*\).*/\1/p' "$scratch/ping" | ranks)" \
            "$(sed -n '/"summary"/s/.*"floor_ns":\([0-9]*\).*/\1/p' "$scratch/ping")" |
            awk '{ printf "%-20s %12.0f us (%5.0f) %12.0f us (%5.0f) %12.0f us %7.0f us\n", $1, $2, $3, $4, $5, $4 - $2, $6 / 1e3 }'
    done
}

# Median and p99 of the times it reads (ns), in us.
ranks() { sort -g | awk '{ time[NR] = $1 } END { print time[int((NR + 1) / 2)] / 1e3, time[int((NR * 99 + 99) / 100)] / 1e3 }'; }

section_nested() {
    local command=() level
    for level in 1 2 3 4 5 6 7 8 9 10; do
        command+=("$longwire" link rtt=10ms --forward "$PGPORT" --quiet --)
    done
    local median p99
    read -r median p99 < <(select_times 200 0 "${command[@]}")
    echo "ten nested links of 10 ms: select 1 takes $median us in the median, $p99 us at p99 (asked: 100000)"
}

section_kills() {
    local number signals=(INT TERM KILL) before after left=0 mark=LONGWIRE_BENCH_KILL
    before=$(namespaces)
    for ((number = 0; number < kills; number++)); do
        # What a shell starts in the background ignores Ctrl-C, unless told otherwise.
        env --default-signal=INT "$mark=$$" "$longwire" link rtt=1ms --quiet -- sh -c 'sleep 1000 & exec sleep 1000' 2>/dev/null &
        local outer=$!
        # At every stage of its start, and when it runs.
        sleep "0.$((RANDOM % 4))$((RANDOM % 10))"
        kill "-${signals[number % 3]}" "$outer" 2>/dev/null || true
        wait "$outer" 2>/dev/null || true
    done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.5
        left=$({ grep -lsz "^$mark=$$\$" /proc/[0-9]*/environ || true; } 2>/dev/null | wc -l)
        after=$(namespaces)
        [ "$left" != 0 ] || [ "$after" != "$before" ] || break
    done
    echo "$kills starts and kills (INT, TERM, KILL): processes left $left; network, mount, pid namespaces before $before, after $after;" \
        "devices left $(grep -c '^ *lw[0-9]' /proc/net/dev || true); mounts left $(grep -c ' longwire ' /proc/self/mountinfo || true)"
}

# How many network, mount and pid namespaces processes are in.
namespaces() {
    local kind
    for kind in net mnt pid; do
        # Processes may end meanwhile.
        { find /proc/[0-9]*/ns/$kind -maxdepth 0 -printf '%l\n' || true; } 2>/dev/null | sort -u | wc -l
    done | paste -sd/
}

main
