#!/bin/bash
# tune.sh: the published experiment with insert and fetch buffers again, on PostgreSQL and MariaDB: 32,000 rows of 322 bytes inserted in
# one transaction, 117,158 selected, at loopback and over an emulated link of 1 ms.
#
# For each database the table of `longwire tune`, then row by row beside the recommended way of inserting, every run of it made (nothing
# predicted): at loopback the ratio is to be at least 4, over 1 ms at least 50. The prediction of row by row over the link stands beside
# what was measured there.
#
# BENCH_ROWS (32000), BENCH_SELECT_ROWS (117158), BENCH_ROW_BYTES (322), BENCH_LINK (rtt=1ms) change the run. About 8 minutes, never more
# than 40: each of the six runs is ended after six minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=$target/release/longwire
rows=${BENCH_ROWS:-32000}
select_rows=${BENCH_SELECT_ROWS:-117158}
row_bytes=${BENCH_ROW_BYTES:-322}
link=${BENCH_LINK:-rtt=1ms}
scratch=

main() {
    if [ -z "${TUNE_BENCH_SERVERS:-}" ]; then
        cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        TUNE_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/tune.sh
    fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    echo "about 8 minutes, at most 40" >&2
    {
        echo "longwire $("$longwire" -V | cut -d' ' -f2), $(nproc) processors, load $(cut -d' ' -f1-3 /proc/loadavg), $(date -u +%FT%TZ)"
        database PostgreSQL "postgres://$PGUSER:$PGPASSWORD@127.0.0.1:$PGPORT/$PGDATABASE"
        database MariaDB "mysql://$MYSQL_USER:$MYSQL_PWD@127.0.0.1:$MYSQL_TCP_PORT/$MYSQL_DATABASE"
    } | tee "$results/tune.txt"
}

database() {
    local name=$1 url=$2 way
    printf '\n## %s\n\n' "$name"
    tune "$url" --link "$link" 2>"$scratch/err" || { cat "$scratch/err"; return; }
    tune "$url" --link "$link" --jobs insert --json >"$scratch/searched" 2>"$scratch/err" || { cat "$scratch/err"; return; }
    way=$(jq -r 'select(.type=="recommendation" and .link!=null) | .way' "$scratch/searched")
    # All values of one way are not wanted here, but its best; row by row is what is to be run over the link.
    tune "$url" --link "$link" --jobs insert --ways 'row by row' --exhaustive --rounds 3 --patience 5min --json \
        >"$scratch/row" 2>"$scratch/err" || { cat "$scratch/err"; return; }
    printf '\nrow by row beside the best (%s), nothing predicted:\n' "$way"
    place "here" null
    place "$link" "\"$link\""
}

# One distance: row by row, the best, the ratio, and how far off the prediction of row by row was.
place() {
    local words=$1 link=$2 slow fast predicted
    slow=$(jq -r "select(.type==\"tuned\" and .link==$link and .way==\"row by row\") | .duration_ns" "$scratch/row")
    fast=$(jq -r "select(.type==\"recommendation\" and .link==$link) | .duration_ns" "$scratch/searched")
    predicted=$(jq -r "select(.type==\"tuned\" and .link==$link and .way==\"row by row\" and .source==\"predicted\") | .duration_ns" "$scratch/searched")
    awk -v words="$words" -v slow="${slow:-0}" -v fast="${fast:-0}" -v predicted="${predicted:-0}" 'BEGIN {
        if (!slow || !fast) { printf "  %-10s not measured\n", words; exit }
        printf "  %-10s row by row %.3f s, best %.3f s: %.1f times", words, slow / 1e9, fast / 1e9, slow / fast
        if (predicted > 0) printf "; row by row was predicted as %.3f s (%+.1f %%)", predicted / 1e9, (predicted / slow - 1) * 100
        print "" }'
}

tune() {
    timeout 360 "$longwire" tune "$@" --rows "$rows" --select-rows "$select_rows" --row-bytes "$row_bytes"
}

main
