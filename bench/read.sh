#!/bin/bash
# read.sh: how fast `longwire read` reads a capture beside tshark and pt-query-digest, which do part of its work.
#
# The capture is real traffic (make-capture.sh), 1 GB and in the page cache. tshark and pt-query-digest would take
# too long for all of it, so each is compared on a slice of it, in MB of capture a second, alternating with longwire
# on the same slice in every round: the ratios are of neighbours in time. A slice flatters the peers: their memory
# and tshark's time a packet grow with the capture, while longwire's start-up weighs more.
#
# BENCH_MB (1000), BENCH_ROUNDS (5), BENCH_SLICE_MB (50), BENCH_DIGEST_MB (10) change the sizes.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
megabytes=${BENCH_MB:-1000}
rounds=${BENCH_ROUNDS:-5}
work=$target/bench
capture=$work/$megabytes.pcap
slice=$work/slice.pcap
digest_slice=$work/slice-mysql.pcap
longwire=$target/release/longwire

main() {
    [ "$(id -u)" = 0 ] || { echo "read.sh: capturing needs root" >&2; exit 2; }
    mkdir -p "$work"
    cargo build --release --locked --package longwire
    cargo build --locked --package testbed --example with_servers
    [ -s "$capture.ports" ] || "$target/debug/examples/with_servers" bench/make-capture.sh "$capture" "$megabytes"
    read -r postgres_port mysql_port <"$capture.ports"
    cut_slices

    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; measure; } | tee "$results/read.txt"
}

# The first BENCH_SLICE_MB of the capture, and the first BENCH_DIGEST_MB of its MySQL part.
cut_slices() {
    local packet_bytes
    packet_bytes=$(capinfos -TrMz "$capture" 2>/dev/null | cut -f2 | cut -d. -f1)
    editcap -F pcap -r "$capture" "$slice" "1-$((${BENCH_SLICE_MB:-50} * 1000000 / (packet_bytes + 16)))" 2>/dev/null
    tcpdump -r "$slice" -w - "tcp port $mysql_port" 2>/dev/null | head -c "$((${BENCH_DIGEST_MB:-10} * 1000000))" >"$digest_slice.cut"
    # Reading to the cut packet and writing the whole ones again.
    tcpdump -r "$digest_slice.cut" -w "$digest_slice" 2>/dev/null || true
    rm -f "$digest_slice.cut"
    cat "$capture" "$slice" "$digest_slice" >/dev/null
}

describe() {
    echo "date      $(date -u +%FT%TZ)"
    echo "host      $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r | cut -d- -f1)"
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo "tshark    $(tshark --version 2>/dev/null | head -n 1)"
    echo "digest    $(pt-query-digest --version)"
    echo "capture   $(stat -c %s "$capture") bytes, $(capinfos -TrMc "$capture" 2>/dev/null | cut -f2) packets; PostgreSQL (pgbench simple, prepared, extended, ranges) and MariaDB (mariadb-slap) at once"
    echo "slices    $(stat -c %s "$slice") bytes for tshark, $(stat -c %s "$digest_slice") bytes of MySQL for pt-query-digest"
    echo "rounds    $rounds, alternating; files in the page cache; output to a null device"
    echo
}

measure() {
    local round
    : >"$work/times"
    for ((round = 1; round <= rounds; round++)); do
        timed longwire "$capture" "$longwire" read "$capture" --json
        timed longwire-slice "$slice" "$longwire" read "$slice" --json
        timed tshark "$slice" tshark_statements
        timed longwire-mysql "$digest_slice" "$longwire" read "$digest_slice" --json
        timed digest "$digest_slice" digest_statements
    done
    report
}

tshark_statements() {
    tshark -n -r "$slice" -d "tcp.port==$postgres_port,pgsql" -d "tcp.port==$mysql_port,mysql" \
        -T fields -e pgsql.query -e mysql.query
}

digest_statements() {
    tcpdump -r "$digest_slice" -s 65535 -x -nn -q -tttt 2>/dev/null |
        TMPDIR="$work" pt-query-digest --type tcpdump --watch-server "127.0.0.1:$mysql_port"
}

# timed NAME FILE COMMAND...: appends NAME, MB/s, MB per second of CPU and peak resident MB to the table of times.
timed() {
    local name=$1 file=$2
    shift 2
    export -f tshark_statements digest_statements
    export work slice digest_slice postgres_port mysql_port
    # A pipeline is measured whole: its wall time, the memory of its largest process.
    if [ "$(type -t "$1")" = function ]; then set -- bash -c "$1"; fi
    local started=$EPOCHREALTIME ended
    /usr/bin/time -o "$work/memory" -f '%M %U %S' "$@" >/dev/null 2>"$work/$name.stderr" ||
        { echo "read.sh: $name failed:" >&2; cat "$work/$name.stderr" >&2; exit 1; }
    ended=$EPOCHREALTIME
    awk -v name="$name" -v bytes="$(stat -c %s "$file")" -v from="$started" -v to="$ended" \
        'END { print name, bytes / 1e6 / (to - from), bytes / 1e6 / ($2 + $3 + 0.005), $1 * 1.024 / 1000 }' "$work/memory" >>"$work/times"
}

# Medians of each, and the median of the ratios round by round.
report() {
    printf '%-32s %10s %12s %12s\n' "" "MB/s" "MB/CPU s" "peak RSS MB"
    line longwire "longwire read, whole capture"
    line longwire-slice "longwire read, slice"
    line tshark "tshark statements, slice"
    line longwire-mysql "longwire read, MySQL slice"
    line digest "tcpdump | pt-query-digest"
    echo
    ratio longwire-slice tshark "longwire to tshark, same slice"
    ratio longwire tshark "longwire (whole) to tshark (slice)"
    ratio longwire-mysql digest "longwire to pt-query-digest, same slice"
    ratio longwire digest "longwire (whole) to pt-query-digest"
}

line() {
    printf '%-32s %10.1f %12.1f %12.1f\n' "$2" \
        "$(column "$1" 2 | median)" "$(column "$1" 3 | median)" "$(column "$1" 4 | median)"
}

ratio() {
    printf '%-42s %8.1f x\n' "$3" "$(paste <(column "$1" 2) <(column "$2" 2) | awk '{ print $1 / $2 }' | median)"
}

column() {
    awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$work/times"
}

median() {
    sort -g | awk '{ value[NR] = $1 } END { print NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

main
