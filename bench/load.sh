#!/bin/bash
# load.sh: what `longwire load` drives, and what driving costs it, beside pgbench on PostgreSQL and ab and wrk on nginx.
#
# Every round visits every peer in every cell, longwire first in one round and last in the next, so that ratios are of
# neighbours in time; reported are medians of the rounds. Operations per second are as each peer tells them; processor time is
# that of the peer's whole process (getrusage) over the operations it made. Where client and server share processors, what a
# driver does not use is the server's.
#
# - PostgreSQL: `select 1` and pgbench's select-only (scale BENCH_SCALE), prepared, 1, 8 and 64 clients.
# - nginx, a page of 612 bytes: connections that are kept (ab -k, wrk) and one connection a request (ab), 1 and 64 clients. wrk
#   and longwire have two threads, ab can have one.
#
# BENCH_ROUNDS (9), BENCH_SECONDS (3, whole) a cell, BENCH_CLIENTS ("1 8 64"), BENCH_MODES ("prepared") change the run. Needs
# pgbench, ab, wrk and GNU time (scripts/setup.sh bench) and an idle machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=${LONGWIRE:-$target/release/longwire}
rounds=${BENCH_ROUNDS:-9}
seconds=${BENCH_SECONDS:-3}
scale=${BENCH_SCALE:-10}
read -ra clients <<<"${BENCH_CLIENTS:-1 8 64}"
read -ra modes <<<"${BENCH_MODES:-prepared}"
http_port=20980
scratch=

main() {
    if [ -z "${LOAD_BENCH_SERVERS:-}" ]; then
        [ -n "${LONGWIRE:-}" ] || cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        LOAD_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/load.sh
    fi
    scratch=$(mktemp -d)
    trap finish EXIT
    start_nginx
    echo 'select 1;' >"$scratch/select1.sql"
    pgbench -i -q -s "$scale" >/dev/null 2>&1
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; measure; summarise; } | tee "$results/load.txt"
}

start_nginx() {
    mkdir "$scratch/site" "$scratch/temporary"
    head -c 612 /dev/zero | tr '\0' x >"$scratch/site/index.html"
    chmod -R a+rX "$scratch"
    local kinds='client_body proxy fastcgi uwsgi scgi' kind paths=
    for kind in $kinds; do paths+="${kind}_temp_path $scratch/temporary; "; done
    cat >"$scratch/nginx.conf" <<END
daemon off; worker_processes 1; pid $scratch/nginx.pid; error_log $scratch/nginx.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000; $paths
    server { listen 127.0.0.1:$http_port backlog=1024; root $scratch/site; } }
END
    nginx -p "$scratch" -c "$scratch/nginx.conf" 2>/dev/null &
    nginx=$!
    sleep 1
}

describe() {
    describe_machine
    echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
    echo "peers     $(pgbench --version); ab $(ab -V | sed -n 's/.*Version \([0-9.]*\).*/\1/p'); $(wrk -v 2>&1 | head -n 1 | cut -d' ' -f1,2)"
    echo "servers   $(psql -tAc 'show server_version'); $(nginx -v 2>&1)"
    echo "rounds    $rounds of $seconds s a cell; every round visits every peer"
    echo
}

measure() {
    local round count mode script
    for ((round = 1; round <= rounds; round++)); do
        for count in "${clients[@]}"; do
            for mode in "${modes[@]}"; do
                for script in select1 select-only; do
                    cell "$round" "$script,$mode" "$count" longwire_sql pgbench
                done
            done
        done
        for count in 1 64; do
            cell "$round" http,kept "$count" longwire_kept wrk_kept ab_kept
            cell "$round" http,closed "$count" longwire_closed ab_closed
        done
    done
}

# cell ROUND WORK CLIENTS PEER...: one visit of each, in this order or the other way round.
cell() {
    local round=$1 work=$2 count=$3 peer peers figures
    shift 3
    peers=("$@")
    ((round % 2)) || mapfile -t peers < <(printf '%s\n' "$@" | tac)
    for peer in "${peers[@]}"; do
        figures=$("run_$peer" "$work" "$count")
        echo "$work $count $round ${peer%%_*} $figures" >>"$scratch/cells"
    done
}

# Each prints operations a second and microseconds of processor time an operation.
run_longwire_sql() {
    local script=(-f "$scratch/select1.sql")
    [ "${1%,*}" = select1 ] || script=(-b select-only -s "$scale")
    timed "$longwire" load "postgres://$PGUSER@$PGHOST:$PGPORT/$PGDATABASE" "${script[@]}" -M "${1#*,}" -c "$2" -j "$(jobs_of "$2")" \
        -T "$seconds" --json
    of_longwire
}

run_pgbench() {
    local script=(-f "$scratch/select1.sql")
    [ "${1%,*}" = select1 ] || script=(-b select-only)
    timed pgbench -n "${script[@]}" -M "${1#*,}" -c "$2" -j "$(jobs_of "$2")" -T "$seconds"
    figures "$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$scratch/said")" \
        "$(sed -n 's/.*actually processed: \([0-9]*\).*/\1/p' "$scratch/said")"
}

run_longwire_kept() { run_longwire_http "$2"; }
run_longwire_closed() { run_longwire_http "$2" --no-keep-alive; }
run_longwire_http() {
    local count=$1
    shift
    timed "$longwire" load "http://127.0.0.1:$http_port/index.html" -c "$count" -j "$(jobs_of "$count")" -T "$seconds" --json "$@"
    of_longwire
}

run_wrk_kept() {
    timed wrk -c "$2" -t "$(jobs_of "$2")" -d "$seconds" "http://127.0.0.1:$http_port/index.html"
    figures "$(sed -n 's/^Requests\/sec: *//p' "$scratch/said")" "$(sed -n 's/ *\([0-9]*\) requests in.*/\1/p' "$scratch/said")"
}

run_ab_kept() { run_ab "$2" -k; }
run_ab_closed() { run_ab "$2"; }
run_ab() {
    local count=$1
    shift
    # Without -n it would end after 50,000 requests, -t or not; -t has to stand before it.
    timed ab -q "$@" -c "$count" -t "$seconds" -n 100000000 "http://127.0.0.1:$http_port/index.html"
    figures "$(sed -n 's/^Requests per second: *\([0-9.]*\).*/\1/p' "$scratch/said")" \
        "$(sed -n 's/^Complete requests: *//p' "$scratch/said")"
}

jobs_of() { [ "$1" -gt 1 ] && echo 2 || echo 1; }

timed() { command time -f '%U %S' -o "$scratch/used" "$@" >"$scratch/said" 2>"$scratch/complained" || true; }

of_longwire() {
    local summary
    summary=$(grep '"type":"summary"' "$scratch/said")
    figures "$(sed -n 's/.*"per_second":\([0-9.]*\).*/\1/p' <<<"$summary")" \
        "$(sed -n 's/.*"operations":\([0-9]*\).*/\1/p' <<<"$summary")"
}

# figures PER_SECOND OPERATIONS
figures() {
    if [ -z "$1" ] || [ "${2:-0}" -eq 0 ]; then
        cat "$scratch/complained" "$scratch/said" >&2
        return 1
    fi
    tail -n 1 "$scratch/used" | awk -v rate="$1" -v count="$2" '{ print rate, ($1 + $2) * 1e6 / count }'
}

summarise() {
    echo "operations a second and processor time an operation (us), medians of the rounds; longwire's over the peer's, round by round"
    echo
    awk '
        function median(list, count,    i, j, t) {
            for (i = 2; i <= count; i++)
                for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
            return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
        }
        function middle(figures, cell,    r, list) {
            for (r = 1; r <= rounds; r++) list[r] = figures[cell, r]
            return median(list, rounds)
        }
        function ratio(figures, own, other,    r, list) {
            for (r = 1; r <= rounds; r++) list[r] = figures[other, r] ? figures[own, r] / figures[other, r] : 0
            return median(list, rounds)
        }
        {
            cell = $1 " " $2 " " $4
            if (!(cell in seen)) { seen[cell] = 1; order[++cells] = cell }
            rate[cell, $3] = $5
            used[cell, $3] = $6
            if ($3 > rounds) rounds = $3
        }
        END {
            printf "%-20s %7s  %-9s %11s %9s %13s %13s\n", "work", "clients", "peer", "per second", "us each", "rate ratio", "time ratio"
            for (c = 1; c <= cells; c++) {
                split(order[c], part, " ")
                own = part[1] " " part[2] " longwire"
                alone = part[3] == "longwire"
                printf "%-20s %7s  %-9s %11.0f %9.2f %13s %13s\n", part[1], part[2], part[3], middle(rate, order[c]), \
                    middle(used, order[c]), alone ? "-" : sprintf("%.3f", ratio(rate, own, order[c])), \
                    alone ? "-" : sprintf("%.3f", ratio(used, own, order[c]))
            }
        }' "$scratch/cells"
}

finish() {
    kill "${nginx:-}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$scratch"
}

main
