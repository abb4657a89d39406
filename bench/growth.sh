#!/bin/bash
# growth.sh: time and memory of commands as their input grows: captures of 1, 10 and 100 times as many connections and operations, and of 10 and 100 times as many
# different statements. `top` is looked at in a terminal of its own until its first screen is there; `watch` relays pgbench that connects for each
# transaction, then psql that sends different statements.
#
# The first is a real capture of pgbench that connects for each transaction, repeated with other addresses (64 copies at the same time); the second is psql that runs
# select 1 as c1, as c2, ... on one connection. Nothing may grow faster than its input; what is limited (20,000 statements, 1,000 connections, a sample of operations for a page) stops growing.
#
# BENCH_MB (6) is the size of the smallest capture, BENCH_GROWTH ("1 10 100") the steps, BENCH_STATEMENTS (1000) the fewest statements, BENCH_TRANSACTIONS (300) the fewest that `watch` sees. Needs root to capture.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=$target/release/longwire
grow=$target/release/examples/grow
megabytes=${BENCH_MB:-6}
statements=${BENCH_STATEMENTS:-1000}
transactions=${BENCH_TRANSACTIONS:-300}
read -ra steps <<<"${BENCH_GROWTH:-1 10 100}"

main() {
    if [ -z "${GROWTH_BENCH_SERVERS:-}" ]; then
        cargo build --release --locked --package longwire
        cargo build --release --locked --package longwire-capture --example grow
        cargo build --locked --package longwire-testbed --example with_servers
        GROWTH_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/growth.sh
    fi
    scratch=$(mktemp -d -p "$target")
    trap 'rm -rf "$scratch"' EXIT
    pgbench -i -q -s 1 >/dev/null 2>&1
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; of_connections; of_statements; } | tee "$results/growth.txt"
}

describe() {
    describe_machine
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo "seconds / peak resident MB of each command; files in the page cache; output to a null device"
}

# captured FILE COMMAND...: what the command exchanges with the server.
captured() {
    local file=$1
    shift
    tcpdump -i lo -n -B 262144 -s 0 -Z root -w "$file" "tcp port $PGPORT" 2>"$scratch/tcpdump.log" &
    local tcpdump=$!
    until grep -q 'listening on' "$scratch/tcpdump.log"; do sleep 0.1; done
    "$@" >/dev/null 2>&1
    sleep 1
    kill -INT "$tcpdump"
    wait "$tcpdump" || true
}

of_connections() {
    captured "$scratch/small.pcap" pgbench -n -C -c 1 -t 12
    for step in "${steps[@]}"; do
        "$grow" "$scratch/small.pcap" "$scratch/$step.pcap" $((megabytes * step)) "$PGPORT"
    done
    head_of "connections and operations"
    rows
    # Only here are client and server different hosts.
    estate >"$scratch/estate.toml"
    row "plan" plan --operations transaction "$scratch/estate.toml"
    watched pgbench -n -C -c 1 -t
    rm -f "$scratch"/*.pcap
}

of_statements() {
    for step in "${steps[@]}"; do
        seq -f 'select 1 as c%.0f;' $((statements * step)) >"$scratch/$step.sql"
        captured "$scratch/$step.pcap" psql -qAtf "$scratch/$step.sql"
    done
    head_of "different statements"
    rows
    watched sh -c 'seq -f "select 1 as c%.0f;" "$1" | psql -qAt' sh
}

head_of() {
    echo
    echo "growing: $1"
    printf '%-34s' ""
    for step in "${steps[@]}"; do
        local found
        found=$("$longwire" read --json --quiet --rtt none "$scratch/$step.pcap" 2>/dev/null |
            sed -n 's/.*"type":"summary".*"connections":\([0-9]*\).*"statements":\([0-9]*\).*/\1 conn., \2 stat./p')
        printf '%26s' "$found"
    done
    printf '\n%-34s' ""
    for step in "${steps[@]}"; do printf '%26s' "$(($(stat -c %s "$scratch/$step.pcap") / 1000000)) MB"; done
    echo
}

rows() {
    row "read --rtt none" read --rtt none
    row "read" read
    row "read --json --exchanges" read --json --exchanges
    row "read --html" read --html "$scratch/page.html"
    row "read --parquet" read --parquet "$scratch/tables"
    row "predict --rtt 10ms" predict --rtt 10ms
    row "predict --clients 16" predict --rtt 10ms --clients 16
    row "check" check --max-turns 1000000 --forbid n+1
    row "tunnel advise" tunnel advise --rtt 10ms
    screens
}

estate() {
    cat <<END
places = ["near", "far"]
[[link]]
between = ["near", "far"]
link = "5ms"
[[service]]
name = "application"
place = "near"
hosts = ["127.0.0.0/8"]
[[service]]
name = "database"
place = "near"
hosts = ["10.0.0.0/8"]
END
}

# screens: top, from its start to its first screen.
screens() {
    printf '%-34s' "top"
    for step in "${steps[@]}"; do
        tmux -S "$scratch/tmux" new-session -d -x 140 -y 40 "exec /usr/bin/time -o $scratch/time -f %M $longwire top $scratch/$step.pcap"
        local begun seconds
        begun=$(date +%s%N)
        until tmux -S "$scratch/tmux" capture-pane -p | grep -q 'operations  .*calls/s'; do sleep 0.05; done
        seconds=$((($(date +%s%N) - begun) / 10000000))
        tmux -S "$scratch/tmux" send-keys q
        while tmux -S "$scratch/tmux" has-session 2>/dev/null; do sleep 0.1; done
        printf '%26s' "$(awk -v hundredths="$seconds" 'END { printf "%.2f s / %.0f MB", hundredths / 100, $1 / 1000 }' "$scratch/time")"
    done
    echo
}

# watched COMMAND...: watch while the command runs, which gets the number of transactions as its last argument.
watched() {
    printf '%-34s' "watch, $transactions to $((transactions * steps[-1]))"
    for step in "${steps[@]}"; do
        /usr/bin/time -o "$scratch/time" -f '%e %M' "$longwire" watch --quiet \
            "postgres://$PGUSER:$PGPASSWORD@127.0.0.1:$PGPORT/$PGDATABASE" -- "$@" "$((transactions * step))" >/dev/null 2>"$scratch/errors" ||
            { cat "$scratch/errors" >&2; exit 1; }
        tail -n 1 "$scratch/time" | awk '{ printf "%26s", sprintf("%.2f s / %.0f MB", $1, $2 / 1000) }'
    done
    echo
}

# row NAME COMMAND...: the command with each capture.
row() {
    printf '%-34s' "$1"
    shift
    for step in "${steps[@]}"; do
        rm -rf "$scratch/tables"
        # 1 is an answer: `check` ends with it where a budget is broken.
        /usr/bin/time -o "$scratch/time" -f '%e %M' "$longwire" "$@" --quiet "$scratch/$step.pcap" >/dev/null 2>"$scratch/errors" ||
            [ $? = 1 ] || { cat "$scratch/errors" >&2; exit 1; }
        tail -n 1 "$scratch/time" | awk '{ printf "%26s", sprintf("%.2f s / %.0f MB", $1, $2 / 1000) }'
    done
    echo
}

main
