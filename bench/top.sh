#!/bin/bash
# top.sh: what `longwire top` costs a processor while it shows 1,000 exchanges a second.
#
# pgbench sends 1,000 select-only transactions a second, an exchange each, over 4 connections. `top` is in tmux at 120 x 40, as a relay and at the
# interface; for comparison `watch` in the same two ways. Reported is the processor time of the process (user and system, /proc/PID/stat) over
# 20 seconds, as a share of one core; `moved` is `top` with the database moved 10 ms away on the screen.
#
# BENCH_SECONDS (20), BENCH_RATE (1000), BENCH_ROUNDS (3) change the run. Needs tmux, and root or the right to capture.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/free-port.sh
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
seconds=${BENCH_SECONDS:-20}
rate=${BENCH_RATE:-1000}
rounds=${BENCH_ROUNDS:-3}
profile=${BENCH_PROFILE:-release}
longwire=$target/$profile/longwire
scratch=

main() {
    if [ -z "${TOP_BENCH_SERVERS:-}" ]; then
        [ "$profile" = release ] && cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        TOP_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/top.sh
    fi
    scratch=$(mktemp -d)
    trap 'tmux_ kill-server 2>/dev/null || true; rm -rf "$scratch"' EXIT
    pgbench -i -q -s 1 >"$scratch/init.txt" 2>&1
    results=${BENCH_RESULTS:-measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)}
    mkdir -p "$results"
    { describe; measure; } | tee "$results/top.txt"
}

describe() {
    describe_machine
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD), $profile"
    echo "server    $(psql -qAtc 'show server_version'), pgbench -S -c 4 -R $rate on the same host over loopback"
    echo "rounds    $rounds of $seconds s each; every round visits every way"
    echo
}

tmux_() { tmux -S "$scratch/socket" -f /dev/null "$@"; }

# The number of the process that runs in the terminal.
process_in_terminal() { cat "/proc/$(tmux_ display-message -p '#{pane_pid}')/task/"*/children | tr -d ' '; }

ticks_of() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# Begins `longwire` in a terminal with these arguments, and waits until it is there.
begin() {
    tmux_ new-session -d -x 120 -y 40 env LC_ALL=C.UTF-8 sh
    tmux_ send-keys -l "'$longwire' $*"
    tmux_ send-keys Enter
    until tmux_ capture-pane -p | grep -Eq 'q quit|Ctrl-C ends'; do sleep 0.05; done
}

# Share of one core of a way, in per cent, and the exchanges a second there were.
cell() {
    local way=$1 port=$PGPORT process before after
    case $way in
    relay | moved)
        port=$(free_port)
        begin top "'postgres://127.0.0.1:$PGPORT/?sslmode=disable'" --listen "127.0.0.1:$port"
        ;;
    interface) begin top --interface lo --port "$PGPORT" ;;
    watch-relay)
        port=$(free_port)
        begin watch "'postgres://127.0.0.1:$PGPORT/?sslmode=disable'" --listen "127.0.0.1:$port" --quiet
        ;;
    watch-interface) begin watch --interface lo --port "$PGPORT" --quiet ;;
    esac
    process=$(process_in_terminal)
    pgbench -n -S -p "$port" -c 4 -j 1 -R "$rate" -T $((seconds + 6)) >"$scratch/pgbench.txt" 2>&1 &
    local load=$!
    sleep 3
    [ "$way" = moved ] && tmux_ send-keys -l ++++
    sleep 1
    before=$(ticks_of "$process")
    sleep "$seconds"
    after=$(ticks_of "$process")
    wait "$load"
    tmux_ kill-server
    awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s="$seconds" 'BEGIN { printf "%.2f ", 100 * t / hz / s }'
    sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$scratch/pgbench.txt"
}

measure() {
    local ways=(relay moved interface watch-relay watch-interface) round way
    for ((round = 0; round < rounds; round++)); do
        for way in "${ways[@]}"; do
            echo "$way $(cell "$way")" >>"$scratch/cells.txt"
        done
    done
    printf '%-16s %14s %8s %8s %12s\n' way 'per cent, median' minimum maximum 'exchanges/s'
    for way in "${ways[@]}"; do
        awk -v way="$way" '$1 == way { print $2, $3 }' "$scratch/cells.txt" | sort -g |
            awk -v way="$way" '{ all[NR] = $1; tps += $2 }
                END { printf "%-16s %16.2f %8.2f %8.2f %12.0f\n", way, all[int((NR + 1) / 2)], all[1], all[NR], tps / NR }'
    done
}

main
