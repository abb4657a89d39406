#!/bin/bash
# relay.sh: what `longwire watch` costs an application's throughput beside haproxy, socat and toxiproxy.
#
# pgbench sends `select 1` over 1, 8 and 64 connections, simple and prepared, straight to the server and through each
# relay in turn; psql copies about 1 GB out. Every round visits every way, so that the ratios are of neighbours in
# time; reported are medians of the rounds' ratios. `undecoded` is longwire's relay with an observer that looks at
# nothing: what decoding costs is the difference to `decoding`, which is longwire without its predictions (--rtt none). Processor time of a relay is all its processes and threads'.
#
# BENCH_ROUNDS (7), BENCH_SECONDS (3) a cell, BENCH_BULK_ROUNDS (5), BENCH_BULK_MB (1000), BENCH_WAYS change the run.
# TOXIPROXY names a toxiproxy server; without it one is fetched from the Go module proxy where there is a go.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/free-port.sh

target=${CARGO_TARGET_DIR:-target}
target=$(realpath -m "$target")
rounds=${BENCH_ROUNDS:-7}
seconds=${BENCH_SECONDS:-3}
bulk_rounds=${BENCH_BULK_ROUNDS:-5}
bulk_megabytes=${BENCH_BULK_MB:-1000}
read -ra ways <<<"${BENCH_WAYS:-direct longwire decoding undecoded haproxy socat toxiproxy}"
work=$target/bench
longwire=$target/release/longwire
toxiproxy=${TOXIPROXY:-$work/bin/server}
scratch=
declare -A port process

main() {
    if [ -z "${RELAY_BENCH_SERVERS:-}" ]; then
        mkdir -p "$work/bin"
        cargo build --release --locked --package longwire
        cargo build --release --locked --package longwire-relay --example relay
        cargo build --locked --package longwire-testbed --example with_servers
        [ -x "$toxiproxy" ] || GOBIN=$work/bin go install github.com/Shopify/toxiproxy/v2/cmd/server@latest
        RELAY_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/relay.sh
    fi
    scratch=$(mktemp -d)
    trap finish EXIT
    echo 'select 1' >"$scratch/select1.sql"
    start_relays
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; measure_select; measure_bulk; } | tee "$results/relay.txt"
}

start_relays() {
    port[direct]=$PGPORT
    for way in "${ways[@]}"; do
        [ "$way" = direct ] || { port[$way]=$(free_port); "start_$way" "${port[$way]}"; }
    done
    for way in "${ways[@]}"; do
        until psql -p "${port[$way]}" -qAtc 'select 1' >/dev/null 2>&1; do sleep 0.1; done
    done
}

start_longwire() { start_watch longwire "$1"; }

start_decoding() { start_watch decoding "$1" --rtt none; }

# NAME PORT FLAG...
start_watch() {
    "$longwire" watch "postgres://127.0.0.1:$PGPORT/?sslmode=disable" --listen "127.0.0.1:$2" --quiet "${@:3}" \
        >"$scratch/$1.txt" 2>&1 &
    process[$1]=$!
}

start_undecoded() {
    # It ends with its input, which this keeps open.
    mkfifo "$scratch/undecoded"
    "$target/release/examples/relay" "tcp://127.0.0.1:$PGPORT" "127.0.0.1:$1" <>"$scratch/undecoded" >/dev/null &
    process[undecoded]=$!
}

start_haproxy() {
    cat >"$scratch/haproxy.cfg" <<END
global
    maxconn 1000
defaults
    mode tcp
    timeout connect 10s
    timeout client 1h
    timeout server 1h
listen database
    bind 127.0.0.1:$1
    server database 127.0.0.1:$PGPORT
END
    haproxy -db -f "$scratch/haproxy.cfg" >/dev/null 2>&1 &
    process[haproxy]=$!
}

start_socat() {
    socat "TCP-LISTEN:$1,bind=127.0.0.1,fork,reuseaddr,backlog=128,nodelay" "TCP:127.0.0.1:$PGPORT,nodelay" 2>/dev/null &
    process[socat]=$!
}

start_toxiproxy() {
    local control
    control=$(free_port)
    LOG_LEVEL=error "$toxiproxy" -host 127.0.0.1 -port "$control" >/dev/null 2>&1 &
    process[toxiproxy]=$!
    until curl -sf -X POST "http://127.0.0.1:$control/proxies" >/dev/null -d \
        "{\"name\":\"database\",\"listen\":\"127.0.0.1:$1\",\"upstream\":\"127.0.0.1:$PGPORT\",\"enabled\":true}"
    do sleep 0.1; done
}

describe() {
    echo "date      $(date -u +%FT%TZ)"
    echo "host      $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r | cut -d- -f1)"
    echo "load      $(cut -d' ' -f1-3 /proc/loadavg) before the run"
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo "peers     $(haproxy -v | head -n 1 | cut -d' ' -f1-3); $(socat -V | sed -n 2p); toxiproxy $("$toxiproxy" -version 2>/dev/null | tail -n 1)"
    echo "server    $(psql -qAtc 'show server_version'), pgbench and psql on the same host over loopback"
    echo "rounds    $rounds of $seconds s a cell, $bulk_rounds of $bulk_megabytes MB; every round visits every way"
    echo
}

# Processor time of a way's processes so far, children that have ended included, in ticks.
ticks() {
    local ids=${process[$1]} sum=0 id
    ids+=" $(pgrep -P "${process[$1]}" | tr '\n' ' ')"
    for id in $ids; do
        # After the command's name, which may hold spaces: fields 12 to 15 are utime, stime, cutime, cstime.
        [ -r "/proc/$id/stat" ] && sum=$((sum + $(sed 's/.*) //' "/proc/$id/stat" | awk '{ print $12 + $13 + $14 + $15 }')))
    done
    echo "$sum"
}

measure_select() {
    local mode clients round way before after tps cells=$scratch/select
    for ((round = 1; round <= rounds; round++)); do
        for mode in simple prepared; do
            for clients in 1 8 64; do
                for way in "${ways[@]}"; do
                    before=0 after=0
                    [ "$way" = direct ] || before=$(ticks "$way")
                    tps=$(pgbench -n -M "$mode" -c "$clients" -T "$seconds" -p "${port[$way]}" -f "$scratch/select1.sql" \
                        2>/dev/null | sed -n 's/^tps = \([0-9.]*\).*/\1/p')
                    sleep 0.2
                    [ "$way" = direct ] || after=$(ticks "$way")
                    echo "$mode,$clients,$round,$way,$tps,$((after - before))" >>"$cells"
                done
            done
        done
    done
    echo "select 1: transactions a second, longwire's rate over the way's (above 1: longwire is faster), processor"
    echo "microseconds of the relay a transaction, and longwire's over the way's (below 1: longwire needs less)"
    echo
    summarise "$cells" "$seconds"
}

measure_bulk() {
    local round way before after begun took cells=$scratch/bulk
    local query="copy (select repeat('x', 999) from generate_series(1, $bulk_megabytes * 1000)) to stdout"
    for ((round = 1; round <= bulk_rounds; round++)); do
        for way in "${ways[@]}"; do
            before=0 after=0
            [ "$way" = direct ] || before=$(ticks "$way")
            begun=$(date +%s%N)
            psql -p "${port[$way]}" -qAtc "$query" >/dev/null
            took=$(($(date +%s%N) - begun))
            sleep 0.2
            [ "$way" = direct ] || after=$(ticks "$way")
            echo "bulk,1,$round,$way,$(awk -v mb="$bulk_megabytes" -v ns="$took" 'BEGIN { print mb * 1e9 / ns }'),$((after - before))" >>"$cells"
        done
    done
    echo
    echo "copy of $bulk_megabytes MB to psql: MB a second, likewise; processor microseconds a MB"
    echo
    summarise "$cells" "$bulk_megabytes"
}

# Of lines mode,clients,round,way,rate,ticks: per mode and number of clients, each way's median rate, the median of
# the rounds' ratios, and the processor time of one unit. A cell of select lasts $2 seconds; one of bulk is $2 MB.
summarise() {
    awk -F, -v amount="$2" -v hertz="$(getconf CLK_TCK)" -v order="${ways[*]}" '
        function median(list, count,    i, j, t) {
            for (i = 2; i <= count; i++)
                for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
            return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
        }
        function shown(number) { return number == "" ? "-" : sprintf("%.2f", number) }
        {
            cell = $1 "," $2
            if (!(cell in seen)) { seen[cell] = ++cells; name[cells] = cell }
            rate[cell, $4, $3] = $5
            units = $1 == "bulk" ? amount : $5 * amount
            cost[cell, $4, $3] = $6 / hertz * 1e6 / units
            if ($3 > rounds) rounds = $3
        }
        END {
            ways = split(order, way, " ")
            printf "%-9s %7s  %-10s %10s %14s %12s %14s\n", "mode", "clients", "way", "rate", "longwire/way", "cpu us", "longwire/way"
            for (c = 1; c <= cells; c++) for (w = 1; w <= ways; w++) {
                split(name[c], part, ",")
                faster = dearer = ""
                for (r = 1; r <= rounds; r++) { rates[r] = rate[name[c], way[w], r]; costs[r] = cost[name[c], way[w], r] }
                if (way[w] != "longwire") {
                    for (r = 1; r <= rounds; r++) ratios[r] = rate[name[c], "longwire", r] / rates[r]
                    faster = median(ratios, rounds)
                    if (way[w] != "direct") {
                        for (r = 1; r <= rounds; r++) ratios[r] = costs[r] ? cost[name[c], "longwire", r] / costs[r] : 0
                        dearer = median(ratios, rounds)
                    }
                }
                printf "%-9s %7s  %-10s %10.0f %14s %12s %14s\n", part[1], part[2], way[w], median(rates, rounds), \
                    shown(faster), way[w] == "direct" ? "-" : sprintf("%.1f", median(costs, rounds)), shown(dearer)
            }
        }' "$1"
}

finish() {
    for way in "${!process[@]}"; do kill "${process[$way]}" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$scratch"
}

main
