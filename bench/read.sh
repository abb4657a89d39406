#!/bin/bash
# read.sh: how fast `longwire read` reads a capture beside tshark and pt-query-digest, which do part of its work.
#
# The capture is real traffic (make-capture.sh), 1 GB and in the page cache. tshark and pt-query-digest would take
# too long for all of it, so each is compared on a slice of it, in MB of capture a second, alternating with longwire
# on the same slice in every round: the ratios are of neighbours in time. A slice flatters the peers: their memory
# and tshark's time a packet grow with the capture, while longwire's start-up weighs more.
#
# By default `read` also predicts (10, 40 and 120 ms), which no peer does: it is measured with --rtt none too. tshark's time goes by
# packets: a second capture (a quarter of the size) has only small ones.
#
# BENCH_MB (1000), BENCH_ROUNDS (5), BENCH_SLICE_MB (50), BENCH_DIGEST_MB (10) change the sizes.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
megabytes=${BENCH_MB:-1000}
rounds=${BENCH_ROUNDS:-5}
work=$target/bench
capture=$work/$megabytes.pcap
small=$work/small-$((megabytes / 4)).pcap
small_slice=$work/slice-small.pcap
slice=$work/slice.pcap
digest_slice=$work/slice-mysql.pcap
longwire=$target/release/longwire

main() {
    [ "$(id -u)" = 0 ] || { echo "read.sh: capturing needs root" >&2; exit 2; }
    mkdir -p "$work"
    cargo build --release --locked --package longwire
    cargo build --locked --package longwire-testbed --example with_servers
    [ -s "$capture.ports" ] || "$target/debug/examples/with_servers" bench/make-capture.sh "$capture" "$megabytes"
    [ -s "$small.ports" ] ||
        "$target/debug/examples/with_servers" bench/make-capture.sh "$small" "$((megabytes / 4))" small
    read -r postgres_port mysql_port <"$capture.ports"
    read -r small_port _ <"$small.ports"
    cut_slices

    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; measure; } | tee "$results/read.txt"
}

# The first BENCH_SLICE_MB of the capture, and the first BENCH_DIGEST_MB of its MySQL part.
cut_slices() {
    first_megabytes "$capture" "$slice" "${BENCH_SLICE_MB:-50}"
    first_megabytes "$small" "$small_slice" "$((${BENCH_SLICE_MB:-50} / 3))"
    tcpdump -r "$slice" -w - "tcp port $mysql_port" 2>/dev/null | head -c "$((${BENCH_DIGEST_MB:-10} * 1000000))" >"$digest_slice.cut"
    # Reading to the cut packet and writing the whole ones again.
    tcpdump -r "$digest_slice.cut" -w "$digest_slice" 2>/dev/null || true
    rm -f "$digest_slice.cut"
    cat "$capture" "$small" "$slice" "$small_slice" "$digest_slice" >/dev/null
}

# About that many of CAPTURE: CAPTURE FILE MEGABYTES.
first_megabytes() {
    editcap -F pcap -r "$1" "$2" "1-$(($3 * 1000000 / ($(packet_bytes "$1") + 16)))" 2>/dev/null
}

packet_bytes() { capinfos -TrMz "$1" 2>/dev/null | cut -f2 | cut -d. -f1; }

describe() {
    echo "date      $(date -u +%FT%TZ)"
    echo "host      $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r | cut -d- -f1)"
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo "tshark    $(tshark --version 2>/dev/null | head -n 1)"
    echo "digest    $(pt-query-digest --version)"
    echo "capture   $(stat -c %s "$capture") bytes, $(capinfos -TrMc "$capture" 2>/dev/null | cut -f2) packets; PostgreSQL (pgbench simple, prepared, extended, ranges) and MariaDB (mariadb-slap) at once"
    echo "small     $(stat -c %s "$small") bytes, $(packet_bytes "$small") a packet; PostgreSQL (pgbench simple, prepared, extended)"
    echo "slices    $(stat -c %s "$slice") and $(stat -c %s "$small_slice") bytes for tshark, $(stat -c %s "$digest_slice") bytes of MySQL for pt-query-digest"
    echo "rounds    $rounds, alternating; files in the page cache; output to a null device"
    echo
}

measure() {
    local round
    : >"$work/times"
    for ((round = 1; round <= rounds; round++)); do
        timed longwire-predicting "$capture" "$longwire" read "$capture" --json
        timed longwire "$capture" "$longwire" read "$capture" --json --rtt none
        timed longwire-slice "$slice" "$longwire" read "$slice" --json --rtt none
        timed tshark "$slice" tshark_statements
        timed longwire-small-predicting "$small" "$longwire" read "$small" --json
        timed longwire-small "$small" "$longwire" read "$small" --json --rtt none
        timed tshark-small "$small_slice" tshark_small_statements
        timed longwire-mysql "$digest_slice" "$longwire" read "$digest_slice" --json --rtt none
        timed digest "$digest_slice" digest_statements
    done
    report
}

tshark_statements() {
    tshark -n -r "$slice" -d "tcp.port==$postgres_port,pgsql" -d "tcp.port==$mysql_port,mysql" \
        -T fields -e pgsql.query -e mysql.query
}

tshark_small_statements() {
    tshark -n -r "$small_slice" -d "tcp.port==$small_port,pgsql" -T fields -e pgsql.query
}

digest_statements() {
    tcpdump -r "$digest_slice" -s 65535 -x -nn -q -tttt 2>/dev/null |
        TMPDIR="$work" pt-query-digest --type tcpdump --watch-server "127.0.0.1:$mysql_port"
}

# timed NAME FILE COMMAND...: appends NAME, MB/s, MB per second of CPU and peak resident MB to the table of times.
timed() {
    local name=$1 file=$2
    shift 2
    export -f tshark_statements tshark_small_statements digest_statements
    export work slice small_slice digest_slice postgres_port small_port mysql_port
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
    line longwire-predicting "longwire read"
    line longwire "longwire read --rtt none"
    line longwire-slice "the same, slice"
    line tshark "tshark statements, slice"
    line longwire-small-predicting "longwire read, small packets"
    line longwire-small "the same with --rtt none"
    line tshark-small "tshark, small packets, slice"
    line longwire-mysql "longwire read, MySQL slice"
    line digest "tcpdump | pt-query-digest"
    echo
    ratio longwire-slice tshark "longwire (--rtt none) to tshark, same slice"
    ratio longwire tshark "longwire (--rtt none) to tshark (slice)"
    ratio longwire-predicting tshark "longwire to tshark (slice)"
    ratio longwire-small tshark-small "small packets, --rtt none"
    ratio longwire-small-predicting tshark-small "small packets"
    ratio longwire-mysql digest "longwire (--rtt none) to pt-query-digest"
    ratio longwire digest "longwire (whole) to pt-query-digest"
}

line() {
    printf '%-32s %10.1f %12.1f %12.1f\n' "$2" \
        "$(column "$1" 2 | median)" "$(column "$1" 3 | median)" "$(column "$1" 4 | median)"
}

ratio() {
    local ratios
    ratios=$(paste <(column "$1" 2) <(column "$2" 2) | awk '{ print $1 / $2 }' | sort -g)
    printf '%-44s %8.1f x  (%.1f to %.1f)\n' "$3" "$(median <<<"$ratios")" "$(head -n 1 <<<"$ratios")" "$(tail -n 1 <<<"$ratios")"
}

column() {
    awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$work/times"
}

median() {
    sort -g | awk '{ value[NR] = $1 } END { print NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

main
