#!/bin/bash
# echo.sh: TCP round trips of `longwire echo` beside qperf (tcp_lat) and sockperf (ping-pong over TCP), over loopback.
#
# Every round visits every peer at 1 and at 64 streams, so that ratios are of neighbours in time; reported are medians of the
# rounds. What is compared is the mean round trip: streams divided by round trips a second. qperf's tcp_lat is one way: twice
# its figure. qperf and sockperf ask and answer with one process a stream, all at the same time (one sockperf server takes few
# clients at once); longwire with one process on each side. `spin` is longwire with --spin, compared with nobody.
#
# BENCH_ROUNDS (9), BENCH_SECONDS (2) a cell, BENCH_STREAMS ("1 64"), BENCH_BYTES (16) change the run. Needs qperf and sockperf
# (scripts/setup.sh bench) and an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=$target/release/longwire
rounds=${BENCH_ROUNDS:-9}
seconds=${BENCH_SECONDS:-2}
bytes=${BENCH_BYTES:-16}
read -ra streams <<<"${BENCH_STREAMS:-1 64}"
ways=(longwire qperf sockperf spin)
first_port=21000
processes=()

main() {
    [ -n "${BENCH_NO_BUILD:-}" ] || cargo build --release --locked --package longwire
    scratch=$(mktemp -d)
    trap finish EXIT
    start_listeners
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; measure; summarise; } | tee "$results/echo.txt"
}

start_listeners() {
    local most=1 count number
    for count in "${streams[@]}"; do [ "$count" -gt "$most" ] && most=$count; done
    "$longwire" echo --listen 127.0.0.1:20999 2>/dev/null &
    processes+=($!)
    for ((number = 0; number < most; number++)); do
        qperf -lp $((first_port + number)) >/dev/null 2>&1 &
        processes+=($!)
        sockperf sr --tcp -i 127.0.0.1 -p $((first_port + 2000 + number)) >/dev/null 2>&1 &
        processes+=($!)
    done
    sleep 1
}

describe() {
    describe_machine
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo "peers     qperf $(qperf --version | sed -n 's/^qperf *//p'); $(sockperf --version | head -n 1 | tr -d '\033' | sed 's/\[[0-9;]*m//g')"
    echo "rounds    $rounds of $seconds s a cell, $bytes bytes each way; every round visits every way"
    echo
}

measure() {
    local round count way
    for ((round = 1; round <= rounds; round++)); do
        for count in "${streams[@]}"; do
            for way in "${ways[@]}"; do
                [ "$way" = spin ] && [ "$count" -gt 1 ] && continue
                echo "$count $round $way $("rtt_$way" "$count")" >>"$scratch/cells"
            done
        done
    done
}

# Each prints the mean round trip in microseconds.
rtt_longwire() { rtt_of_longwire "$1"; }
rtt_spin() { rtt_of_longwire "$1" --spin; }
rtt_of_longwire() {
    local count=$1
    shift
    "$longwire" echo 127.0.0.1:20999 --streams "$count" --request "$bytes" --reply "$bytes" -T "${seconds}s" --json "$@" 2>/dev/null |
        sed -n 's/.*"type":"echo".*"per_second":\([0-9.]*\).*/\1/p' | awk -v streams="$count" '{ print streams / $1 * 1e6 }'
}

rtt_qperf() {
    local number clients=()
    for ((number = 0; number < $1; number++)); do
        qperf -lp $((first_port + number)) -t "$seconds" -m "$bytes" -e 6 127.0.0.1 tcp_lat >"$scratch/qperf.$number" &
        clients+=($!)
    done
    wait "${clients[@]}"
    awk -v streams="$1" '/latency/ {
        unit = $4 == "ns" ? 1e-3 : $4 == "ms" ? 1e3 : 1
        rate += 1 / (2 * $3 * unit)
        told++
    } END { if (told != streams) exit 1; print streams / rate }' "$scratch"/qperf.*
    rm "$scratch"/qperf.*
}

rtt_sockperf() {
    local number clients=()
    for ((number = 0; number < $1; number++)); do
        sockperf pp --tcp -i 127.0.0.1 -p $((first_port + 2000 + number)) -t "$seconds" -m "$bytes" --full-rtt >"$scratch/sockperf.$number" 2>&1 &
        clients+=($!)
    done
    wait "${clients[@]}"
    awk -v streams="$1" '/Round trip is/ { for (i = 1; i < NF; i++) if ($i == "is") { rate += 1 / $(i + 1); told++ } }
        END { if (told != streams) exit 1; print streams / rate }' "$scratch"/sockperf.*
    rm "$scratch"/sockperf.*
}

summarise() {
    echo "mean round trip in microseconds: median, least and greatest of the rounds; longwire's over the way's, round by round"
    echo
    awk '
        function median(list, count,    i, j, t) {
            for (i = 2; i <= count; i++)
                for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
            return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
        }
        {
            cell = $1 " " $3
            if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell }
            rtt[cell, $2] = $4
            if ($2 > rounds) rounds = $2
        }
        END {
            printf "%7s  %-9s %9s %9s %9s %14s\n", "streams", "way", "median", "least", "greatest", "longwire/way"
            for (c = 1; c <= cells; c++) {
                split(order[c], part, " ")
                for (r = 1; r <= rounds; r++) { list[r] = rtt[order[c], r]; ratios[r] = list[r] ? rtt[part[1] " longwire", r] / list[r] : 0 }
                middle = median(list, rounds)
                printf "%7s  %-9s %9.2f %9.2f %9.2f %14s\n", part[1], part[2], middle, list[1], list[rounds], \
                    part[2] == "longwire" ? "-" : sprintf("%.2f", median(ratios, rounds))
            }
        }' "$scratch/cells"
}

finish() {
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$scratch"
}

main
