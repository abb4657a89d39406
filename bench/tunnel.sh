#!/bin/bash
# tunnel.sh: what `longwire tunnel` costs where there is no distance: throughput of a large text result, and time added to
# `select 1`, beside a plain `longwire relay`, two of them one behind the other (a tunnel is two processes on the path, too), `ssh -L` and `ssh -C -L`.
#
# Everything is on loopback, where a tunnel can only lose. Text: psql copies rows of 480 bytes out, 2,000 different ones again and
# again, of words that zlib level 2 makes some 16 times smaller. `select 1`: pgbench with one client; time added is a way's time
# of a transaction less that of the straight one in the same round. Every round visits every way, so that ratios are of
# neighbours in time; reported are medians of the rounds' ratios, with the least and the most.
#
# Ways: direct; relay; relays: two; tunnel-N[-plain]: level N (or auto), with TLS unless plain; ssh, ssh-C.
# BENCH_ROUNDS (7), BENCH_SECONDS (3) of select 1 a cell, BENCH_BULK_ROUNDS (5), BENCH_BULK_MB (400) change the run.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/free-port.sh

target=${CARGO_TARGET_DIR:-target}
target=$(realpath -m "$target")
rounds=${BENCH_ROUNDS:-7}
seconds=${BENCH_SECONDS:-3}
bulk_rounds=${BENCH_BULK_ROUNDS:-5}
bulk_megabytes=${BENCH_BULK_MB:-400}
bulk_ways=(direct relay tunnel-0 tunnel-1 tunnel-auto tunnel-0-plain tunnel-1-plain tunnel-auto-plain ssh ssh-C)
select_ways=(direct relay relays tunnel-0 tunnel-1 tunnel-auto tunnel-auto-plain ssh)
longwire=$target/release/longwire
scratch=
far_port=
declare -A port process

main() {
    if [ -z "${TUNNEL_BENCH_SERVERS:-}" ]; then
        cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        TUNNEL_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/tunnel.sh
    fi
    scratch=$(mktemp -d)
    trap finish EXIT
    echo 'select 1' >"$scratch/select1.sql"
    make_text
    start_ways
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; measure_bulk; measure_select; } | tee "$results/tunnel.txt"
}

# A table of 1 MB of text, copied as often as it takes.
make_text() {
    psql -q <<'END'
create unlogged table text_rows as
select i, repeat(case i % 3 when 0 then 'parcel left at the front desk, signed by the recipient; '
    when 1 then 'customer asked for a later delivery, no further action; '
    else 'invoice sent by mail, see the note of the day before; ' end, 8) || md5(i::text) as note
from generate_series(1, 2000) i;
vacuum analyze text_rows;
END
    bulk_query="copy (select t.* from generate_series(1, $bulk_megabytes) cross join text_rows t) to stdout"
}

start_ways() {
    local way
    "$longwire" tunnel keygen --psk "$scratch/shared" >/dev/null
    start_sshd
    for way in "${bulk_ways[@]}" relays; do
        port[$way]=$PGPORT
        [ "$way" = direct ] || { port[$way]=$(free_port); start_way "$way" "${port[$way]}"; }
    done
    for way in "${bulk_ways[@]}" relays; do
        until psql -h 127.0.0.1 -p "${port[$way]}" -qAtc 'select 1' >/dev/null 2>&1; do sleep 0.1; done
    done
}

start_way() {
    case "$1" in
        relay) start_relay "$1" "$2" "$PGPORT" ;;
        relays) start_relay "$1" "$2" "${port[relay]}" ;;
        tunnel-*-plain) start_tunnel "$1" "$2" "$(echo "$1" | cut -d- -f2)" ;;
        tunnel-*) start_tunnel "$1" "$2" "$(echo "$1" | cut -d- -f2)" --psk-file "$scratch/shared" ;;
        ssh) start_ssh "$1" "$2" -o Compression=no ;;
        ssh-C) start_ssh "$1" "$2" -C ;;
    esac
}

# start_relay WAY PORT TO
start_relay() {
    "$longwire" relay "tcp://127.0.0.1:$3" --listen "127.0.0.1:$2" >"$scratch/$1.txt" 2>&1 &
    process[$1]=$!
}

# start_tunnel WAY PORT LEVEL KEY...: both ends, each a process of its own.
start_tunnel() {
    local way=$1 listen=$2 level=$3 between
    shift 3
    between=$(free_port)
    "$longwire" tunnel far --listen "127.0.0.1:$between" --to "127.0.0.1:$PGPORT" "$@" >"$scratch/$way-far.txt" 2>&1 &
    process[$way]=$!
    until (exec 3<>"/dev/tcp/127.0.0.1/$between") 2>/dev/null; do sleep 0.1; done
    "$longwire" tunnel near --listen "127.0.0.1:$listen" --to "127.0.0.1:$between" --level "$level" "$@" >"$scratch/$way-near.txt" 2>&1 &
    process[$way]+=" $!"
}

start_sshd() {
    far_port=$(free_port)
    ssh-keygen -q -t ed25519 -N '' -f "$scratch/host"
    ssh-keygen -q -t ed25519 -N '' -f "$scratch/key"
    [ -d /run/sshd ] || mkdir -m 755 /run/sshd
    /usr/sbin/sshd -D -e -f /dev/null -p "$far_port" -h "$scratch/host" -o ListenAddress=127.0.0.1 \
        -o "AuthorizedKeysFile=$scratch/key.pub" -o StrictModes=no -o UsePAM=no -o PidFile=none >"$scratch/sshd.txt" 2>&1 &
    process[sshd]=$!
    until (exec 3<>"/dev/tcp/127.0.0.1/$far_port") 2>/dev/null; do sleep 0.1; done
}

# start_ssh WAY PORT OPTION...
start_ssh() {
    local way=$1 listen=$2
    shift 2
    ssh -F /dev/null -N "$@" -p "$far_port" -i "$scratch/key" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ExitOnForwardFailure=yes \
        -L "127.0.0.1:$listen:127.0.0.1:$PGPORT" 127.0.0.1 >"$scratch/$way.txt" 2>&1 &
    process[$way]=$!
}

describe() {
    echo "date      $(date -u +%FT%TZ)"
    echo "host      $(nproc) CPUs, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo), Linux $(uname -r | cut -d- -f1)"
    echo "load      $(cut -d' ' -f1-3 /proc/loadavg) before the run"
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo "peers     $(ssh -V 2>&1)"
    echo "server    PostgreSQL $(psql -qAtc 'show server_version'), pgbench and psql on the same host over loopback"
    echo "rounds    $rounds of $seconds s of select 1 a cell, $bulk_rounds of $bulk_megabytes times 2,000 rows; every round visits every way"
    echo
}

# Processor time so far of a way's processes, in ticks; of ssh also the server's end, which is shared but works for one at a time.
ticks() {
    local ids=${process[$1]:-} sum=0 id
    case "$1" in ssh*) ids+=" $(descendants "${process[sshd]}")" ;; esac
    for id in $ids; do
        # After the command's name, which may hold spaces: fields 12 and 13 are utime and stime.
        [ -r "/proc/$id/stat" ] && sum=$((sum + $(sed 's/.*) //' "/proc/$id/stat" | awk '{ print $12 + $13 }')))
    done
    echo "$sum"
}

descendants() {
    local id
    for id in $(pgrep -P "$1"); do echo "$id"; descendants "$id"; done
}

measure_bulk() {
    local round way before begun took bytes cells=$scratch/bulk
    bytes=$(psql -h 127.0.0.1 -qAtc "$bulk_query" | wc -c)
    for ((round = 1; round <= bulk_rounds; round++)); do
        for way in "${bulk_ways[@]}"; do
            before=$(ticks "$way")
            begun=$(date +%s%N)
            psql -h 127.0.0.1 -p "${port[$way]}" -qAtc "$bulk_query" >/dev/null
            took=$(($(date +%s%N) - begun))
            sleep 0.2
            echo "$round,$way,$(awk -v bytes="$bytes" -v ns="$took" 'BEGIN { print bytes * 1e3 / ns }'),$(($(ticks "$way") - before))" >>"$cells"
        done
    done
    echo "copy of $((bytes / 1000000)) MB of text to psql: MB a second, over that of the relay (least to most), processor ms a MB of both ends"
    echo
    summarise "$cells" relay "$(awk -v bytes="$bytes" 'BEGIN { print bytes / 1e6 }')" "${bulk_ways[@]}"
}

measure_select() {
    local round way before tps cells=$scratch/select
    for ((round = 1; round <= rounds; round++)); do
        for way in "${select_ways[@]}"; do
            before=$(ticks "$way")
            tps=$(pgbench -n -c 1 -T "$seconds" -h 127.0.0.1 -p "${port[$way]}" -f "$scratch/select1.sql" 2>/dev/null |
                sed -n 's/^tps = \([0-9.]*\).*/\1/p')
            sleep 0.2
            echo "$round,$way,$tps,$(($(ticks "$way") - before))" >>"$cells"
        done
    done
    echo
    echo "select 1, one client: us a transaction, us added to the straight way, that over the time added by one relay (least to most)"
    echo
    awk -F, -v order="${select_ways[*]}" "$statistics"'
        { time[$2, $1] = 1e6 / $3; if ($1 > rounds) rounds = $1 }
        END {
            ways = split(order, way, " ")
            printf "%-18s %10s %10s %26s\n", "way", "us", "added us", "added/added by relay"
            for (w = 1; w <= ways; w++) {
                for (r = 1; r <= rounds; r++) {
                    all[r] = time[way[w], r]
                    added[r] = time[way[w], r] - time["direct", r]
                    over[r] = added[r] / (time["relay", r] - time["direct", r])
                }
                printf "%-18s %10.1f %10.1f %26s\n", way[w], median(all, rounds), median(added, rounds), spread(over, rounds)
            }
        }' "$cells"
}

# summarise CELLS BASE MEGABYTES WAY...: of lines round,way,rate,ticks each way's median rate, the rounds' ratios to BASE,
# and processor time.
summarise() {
    local cells=$1 base=$2 megabytes=$3
    shift 3
    awk -F, -v base="$base" -v megabytes="$megabytes" -v hertz="$(getconf CLK_TCK)" -v order="$*" "$statistics"'
        { rate[$2, $1] = $3; cost[$2, $1] = $4 / hertz * 1e3 / megabytes; if ($1 > rounds) rounds = $1 }
        END {
            ways = split(order, way, " ")
            printf "%-18s %10s %26s %10s\n", "way", "MB/s", "over " base, "cpu ms/MB"
            for (w = 1; w <= ways; w++) {
                for (r = 1; r <= rounds; r++) {
                    rates[r] = rate[way[w], r]; costs[r] = cost[way[w], r]; over[r] = rates[r] / rate[base, r]
                }
                printf "%-18s %10.1f %26s %10.2f\n", way[w], median(rates, rounds), spread(over, rounds), median(costs, rounds)
            }
        }' "$cells"
}

statistics='
    function sort(list, count,    i, j, t) {
        for (i = 2; i <= count; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
    }
    function median(list, count) {
        sort(list, count)
        return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
    }
    function spread(list, count,    middle) {
        middle = median(list, count)
        return sprintf("%.2f (%.2f to %.2f)", middle, list[1], list[count])
    }'

finish() {
    local way
    # Words are processes.
    # shellcheck disable=SC2086
    for way in "${!process[@]}"; do kill ${process[$way]} 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$scratch"
}

main
