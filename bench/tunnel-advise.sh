#!/bin/bash
# tunnel-advise.sh: how far the break-even rate that `longwire tunnel advise` predicts is from the one measured.
#
# PostgreSQL answers with some MB of text. advise looks at these operations and predicts, for each level, the rate of the
# link above which a tunnel without compression is faster. Then the same operations (the same seed) go through near and
# far end over an emulated link of rates around it, level 0 and the level in turn in every round. The crossing is where
# the medians of off and level are equal, on the line through the ratios at all rates (in logarithms); what is predicted is the
# median of predictions made between the visits, because the processor's speed drifts meanwhile.
#
# BENCH_LEVELS (9 6), BENCH_ROUNDS (5), BENCH_OPERATIONS (5) a visit, BENCH_ROWS (5000) a reply, BENCH_RTT (1ms) change the run.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/free-port.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
read -ra levels <<<"${BENCH_LEVELS:-9 6}"
rounds=${BENCH_ROUNDS:-5}
operations=${BENCH_OPERATIONS:-5}
rows=${BENCH_ROWS:-5000}
rtt=${BENCH_RTT:-1ms}
factors='0.6 0.75 0.9 1.0 1.1 1.3 1.6'
longwire=$target/release/longwire
scratch=
processes=()

main() {
    if [ -z "${TUNNEL_BENCH_SERVERS:-}" ]; then
        cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        TUNNEL_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/tunnel-advise.sh
    fi
    scratch=$(mktemp -d)
    trap finish EXIT
    server="postgres://$PGUSER@127.0.0.1:$PGPORT/$PGDATABASE?sslmode=disable"
    make_table
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    { describe; for level in "${levels[@]}"; do measure "$level"; done; } | tee "$results/tunnel-advise.txt"
}

# Rows of words, as different from each other as words in sentences are.
make_table() {
    psql -q -o /dev/null <<SQL
create table article(id int primary key, title text, body text, price numeric);
select setseed(0.5);
insert into article select g, 'Article number ' || g || ' of the catalogue', (select string_agg(w, ' ') from (
    select (array['the','customer','ordered','several','articles','from','warehouse','delivery','expected','within','days',
    'please','contact','support','invoice','number','payment','received','thank','you'])[1 + floor(random() * 20)::int] w
    from generate_series(1, 60) where g > 0) words), round((random() * 1000)::numeric, 2)
    from generate_series(1, 60000) g;
SQL
    cat >"$scratch/page.sql" <<SQL
\set first random(1, $((60000 - rows)))
\set last :first + $((rows - 1))
select * from article where id between :first and :last;
SQL
}

measure() {
    local level=$1 first factor
    first=$(advise "$level")
    echo "level $level: predicted break-even $(awk "BEGIN{printf \"%.1f\", $first/1e6}") Mbit/s at first"
    : >"$scratch/medians"
    echo "$first" >"$scratch/predictions"
    for factor in $factors; do
        visit "$level" "$(awk "BEGIN{printf \"%d\", $first*$factor}")" "$factor"
        advise "$level" >>"$scratch/predictions"
    done
    echo "  predicted between the visits, Mbit/s: $(sort -n "$scratch/predictions" | awk '{ printf "%.0f ", $1 / 1e6 }')"
    crossing "$(median <"$scratch/predictions")" <"$scratch/medians"
}

# The predicted break-even rate of a level, bits a second.
advise() {
    "$longwire" tunnel advise "$server" -f "$scratch/page.sql" -n "$operations" -T 60s --rtt "$rtt" --levels "$1" --json \
        2>"$scratch/advice.err" | jq -r "select(.type==\"level\" and .level==$1).break_even_bits_per_second"
}

# One rate: off and the level in turn.
visit() {
    local level=$1 rate=$2 factor=$3 round way far relay near0 near
    far=$(free_port); start tunnel far --listen "127.0.0.1:$far" --to "127.0.0.1:$PGPORT"
    await "$far"
    relay=$(free_port); start relay "tcp://127.0.0.1:$far" --listen "127.0.0.1:$relay" --link "rtt=$rtt rate=${rate}bit"
    await "$relay"
    near0=$(free_port); start tunnel near --listen "127.0.0.1:$near0" --to "127.0.0.1:$relay" --lanes 1 --level 0
    near=$(free_port); start tunnel near --listen "127.0.0.1:$near" --to "127.0.0.1:$relay" --lanes 1 --level "$level"
    await "$near0"; await "$near"
    : >"$scratch/off"; : >"$scratch/level"
    for round in $(seq "$rounds"); do
        operate "$near0" >>"$scratch/off"
        operate "$near" >>"$scratch/level"
    done
    stop_all
    local off level_time
    off=$(median <"$scratch/off"); level_time=$(median <"$scratch/level")
    echo "$rate $off $level_time" >>"$scratch/medians"
    awk -v r="$rate" -v o="$off" -v l="$level_time" -v f="$factor" \
        'BEGIN{printf "  x %-4s %7.1f Mbit/s: off %7.1f ms, level %7.1f ms, off/level %.3f\n", f, r/1e6, o/1e6, l/1e6, o/l}'
}

# The mean of some operations, in nanoseconds.
operate() {
    "$longwire" load "postgres://$PGUSER@127.0.0.1:$1/$PGDATABASE?sslmode=disable" -c 1 -n "$operations" -P 0 \
        -f "$scratch/page.sql" --json 2>/dev/null | jq -r 'select(.type=="summary") | .mean_ns // .p50_ns'
}

# Where the line through the logarithms of the ratios, over those of the rates, is zero.
crossing() {
    awk -v predicted="$1" '
        { x = log($1); y = log($2 / $3); n++; sx += x; sy += y; sxx += x * x; sxy += x * y; if (y > 0) faster++ }
        END { slope = (n * sxy - sx * sy) / (n * sxx - sx * sx)
              if (slope >= 0 || faster == 0 || faster == n) { print "  no crossing between these rates\n"; exit }
              at = exp((sx - sy / slope) / n)
              printf "  measured break-even %.1f Mbit/s: predicted (median) %.1f is %+.1f %% off\n\n", at / 1e6, predicted / 1e6, (predicted / at - 1) * 100 }'
}

start() {
    "$longwire" "$@" >>"$scratch/log" 2>&1 &
    processes+=($!)
}

stop_all() {
    for process in "${processes[@]}"; do kill -INT "$process" 2>/dev/null || true; done
    wait "${processes[@]}" 2>/dev/null || true
    processes=()
}

await() {
    local tries
    for tries in $(seq 100); do
        (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
        sleep 0.1
    done
    echo "nobody listens on port $1" >&2; tail "$scratch/log" >&2; exit 1
}

median() { sort -n | awk '{a[NR]=$1} END{print a[int((NR+1)/2)]}'; }

describe() {
    echo "tunnel-advise.sh, $(date -u +%FT%RZ), $(nproc) processors, $(uname -sr), $("$longwire" -V), $(psql -qAtc 'show server_version')"
    echo "$operations operations a visit of $rows rows each, $rounds rounds, rtt $rtt; all ends, the link and PostgreSQL on this machine"
}

finish() {
    stop_all
    rm -rf "$scratch"
}

main "$@"
