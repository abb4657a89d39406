#!/bin/bash
# tune-exhaustive.sh: whether what `longwire tune` recommends is within 5 % of the best of an exhaustive sweep.
#
# At the distance that is there and over links of 1, 10 and 40 ms, on PostgreSQL and MariaDB, with rows of three widths: first the search
# (insert and select), then every way with every value, in turns. Both the recommended setting and the best are looked up in the sweep, so
# that they were run at the same time; the smallest of many medians is lower than any true one, so that ratio is too large. So in every cell in
# which the two differ, the ways of both run again, every value eleven times in turns: the column "again" is the ratio then, and the one that
# tells how good the recommendation is, since nothing was chosen by it. "as good" says whether
# the recommendation names the best of the sweep as one that is as good ("-": it is the recommended one); it counts for nothing.
# A setting that would take longer than the patience over a link is in neither (row by row over 40 ms).
#
# BENCH_RUNS (3) of each setting in the sweep, BENCH_PATIENCE (1s), BENCH_WIDTHS ("50 322 2000"), BENCH_LINKS ("1ms 10ms 40ms") change the run.
# About 25 minutes; each sweep is ended after 8.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=$target/release/longwire
runs=${BENCH_RUNS:-3}
patience=${BENCH_PATIENCE:-1s}
read -ra widths <<<"${BENCH_WIDTHS:-50 322 2000}"
read -ra rtts <<<"${BENCH_LINKS:-1ms 10ms 40ms}"
scratch=

main() {
    if [ -z "${TUNE_BENCH_SERVERS:-}" ]; then
        cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        TUNE_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/tune-exhaustive.sh
    fi
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    links=()
    for rtt in "${rtts[@]}"; do links+=(--link "rtt=$rtt"); done
    echo "about 25 minutes" >&2
    {
        echo "longwire $("$longwire" -V | cut -d' ' -f2), $(nproc) processors, load $(cut -d' ' -f1-3 /proc/loadavg), $(date -u +%FT%TZ)"
        printf '%-11s %5s  %-7s %-9s  %-34s %-34s %6s  %6s  %-7s  %s\n' database bytes job link recommended 'best of the sweep' ratio again 'as good' 'runs of sweep'
        for width in "${widths[@]}"; do
            database PostgreSQL "$width" "postgres://$PGUSER:$PGPASSWORD@127.0.0.1:$PGPORT/$PGDATABASE"
            database MariaDB "$width" "mysql://$MYSQL_USER:$MYSQL_PWD@127.0.0.1:$MYSQL_TCP_PORT/$MYSQL_DATABASE"
        done
        for link in here "${rtts[@]/#/rtt=}" all; do counted "$link"; done
    } | tee "$results/tune-exhaustive.txt"
}

# How many cells of a link, or of all, are within 5 % of the best.
counted() {
    awk -v link="$1" 'link == "all" || $1 == link { n++; if ($2 <= 1.05) good++; if ($3 <= 1.05) met++; if ($3 > worst) worst = $3; if ($4 != "no") named++ }
        END { if (n) printf "\n%s: %d of %d within 5 %% of the best of the sweep; %d when both ran again, the worst %.3f times the best; %d are that best or name it as good\n",
            link, good, n, met, worst, named }' "$scratch/ratios"
}

# One database with rows of one width: about as many bytes at each width.
database() {
    local name=$1 width=$2 url=$3 rows
    rows=$((600000 / width + 1000))
    local shape=(--rows "$rows" --select-rows "$((rows * 3))" --row-bytes "$width" --patience "$patience")
    if ! timeout 480 "$longwire" tune "$url" "${shape[@]}" --jobs insert,select "${links[@]}" --json >"$scratch/search" 2>"$scratch/err" ||
        ! timeout 480 "$longwire" tune "$url" "${shape[@]}" --jobs insert,select "${links[@]}" --json --exhaustive --rounds "$runs" >"$scratch/sweep" 2>"$scratch/err"; then
        echo "$name, $width bytes: $(tail -1 "$scratch/err")"
        return
    fi
    jq -n -r --arg name "$name" --arg width "$width" --slurpfile search "$scratch/search" --slurpfile sweep "$scratch/sweep" '
        def setting: if .value then "\(.way), \(.value)" else .way end;
        $search[] | select(.type == "recommendation") as $one
        | [$sweep[] | select(.type == "tuned" and .source != "predicted" and .job == $one.job and .link == $one.link)] as $all
        | ($all | min_by(.duration_ns)) as $best
        | ($all | map(select(.way == $one.way and .value == $one.value)) | first) as $same
        | select($best and $same)
        | [$name, $width, $one.job, ($one.link // "here"), ($one | setting), ($best | setting),
           ($same.duration_ns / $best.duration_ns),
           (if $same == $best then "-" elif any($one.as_good[]; .way == $best.way and .value == $best.value) then "yes" else "no" end),
           "\($one.runs) of \($one.full_sweep_runs)"] | @tsv' |
        while IFS=$'\t' read -r name width job link recommended best ratio named taken; do
            again=1
            [ "$recommended" = "$best" ] || again=$(again "$recommended" "$best")
            echo "$link $ratio $again $named" >>"$scratch/ratios"
            printf '%-11s %5s  %-7s %-9s  %-34s %-34s %6.3f  %6s  %-7s  %s\n' \
                "$name" "$width" "$job" "$link" "$recommended" "$best" "$ratio" "$again" "$named" "$taken"
        done
}

# Of two settings "WAY, VALUE" the time of the first over that of the second, in a sweep of their ways alone.
again() {
    local at=()
    [ "$link" = here ] || at=(--link "$link")
    timeout 240 "$longwire" tune "$url" "${shape[@]}" --jobs "$job" --ways "${1%, [0-9]*},${2%, [0-9]*}" "${at[@]}" \
        --json --exhaustive --rounds 11 </dev/null 2>"$scratch/err" |
        jq -n -r --arg one "$1" --arg other "$2" --arg link "$link" '
            def setting: if .value then "\(.way), \(.value)" else .way end;
            [inputs | select(.type == "tuned" and (.link // "here") == $link)] as $all
            | def time($name): $all | map(select(setting == $name)) | first | .duration_ns;
            time($one) / time($other) | . * 1000 | round / 1000'
}

main
