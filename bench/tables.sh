#!/bin/sh
# tables.sh CAPTURE...: how fast are tables written, how large are they, and how long does a query of one statement take over 100 million exchanges?
#
# `read --parquet` beside `read --json --exchanges`, alternating, 5 rounds; bytes beside those of the records with zstd (level 3) and of the captures. Then the tables
# of exchanges are copied to other hosts and days until they have 100 million rows, and DuckDB is asked, on 2 threads, for the 99th percentile of one statement: of the most
# frequent, of the one in the middle by frequency among the ten most frequent, and of the rarest. Needs 2 GB in TMPDIR, and python3 with venv.
set -eu
cd "$(dirname "$0")/.."
longwire="${CARGO_TARGET_DIR:-$PWD/target}/release/longwire"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
seconds() { start=$(date +%s%N); "$@" >/dev/null; echo $((($(date +%s%N) - start) / 1000000)); }
records() { "$longwire" read --json --exchanges "$@"; }
plain() { "$longwire" read --quiet "$@"; }
tables() { rm -rf "$work/tables"; "$longwire" read --quiet --parquet "$work/tables" "$@"; }

for round in 1 2 3 4 5; do
    echo "round $round: records $(seconds records "$@") ms, tables $(seconds tables "$@") ms, neither $(seconds plain "$@") ms"
done | tee "$work/rounds"
awk '{sub(",", ""); ratio[NR] = $4 / $7} END {n = asort_(ratio); print "speed of tables / speed of records: median " ratio[int((n + 1) / 2)] ", from " ratio[1] " to " ratio[n]}
     function asort_(a, i, j, t) {for (i = 2; i in a; i++) for (j = i; j > 1 && a[j - 1] > a[j]; j--) {t = a[j]; a[j] = a[j - 1]; a[j - 1] = t} return i - 1}' "$work/rounds"
records "$@" | zstd --quiet -3 -o "$work/records.zst"
bytes() { du --bytes --summarize --total "$@" | tail -1 | cut -f1; }
of_tables=$(find "$work/tables" -name '*.parquet' -printf '%s\n' | awk '{sum += $1} END {print sum}')
echo "bytes: tables $of_tables, records with zstd $(bytes "$work/records.zst"), captures $(bytes "$@")"
/usr/bin/time -f "tables: at most %M KB of memory" "$longwire" read --quiet --parquet "$work/tables" "$@" >/dev/null

python3 -m venv "$work/python" && "$work/python/bin/pip" --quiet install duckdb==2.0.0
"$work/python/bin/python" - "$work" <<'END'
import duckdb, glob, os, shutil, sys, time
work = sys.argv[1]
files = glob.glob(f"{work}/tables/exchanges/**/*.parquet", recursive=True)
rows = duckdb.sql(f"select count(*) from read_parquet({files})").fetchall()[0][0]
copies = -(-100_000_000 // rows)
for copy in range(copies):
    for number, file in enumerate(files):
        folder = f"{work}/many/date=2026-{1 + copy // 28 % 12:02}-{1 + copy % 28:02}/host=h{copy // 336}/{os.path.basename(os.path.dirname(file))}"
        os.makedirs(folder, exist_ok=True)
        shutil.copy(file, f"{folder}/{copy}-{number}.parquet")
shutil.rmtree(f"{work}/tables")
duckdb.sql("set threads = 2")
table = f"read_parquet('{work}/many/**/*.parquet', hive_partitioning = true)"
print(f"{duckdb.sql(f'select count(*) from {table}').fetchall()[0][0]} exchanges in {copies} copies")
found = duckdb.sql(f"select fingerprint, count(*) as n from {table} where fingerprint is not null group by all order by n desc, fingerprint").fetchall()
for fingerprint, count in [found[0], found[min(4, len(found) - 1)], found[-1]]:
    query = f"select quantile_cont(request_ns + coalesce(first_byte_ns, 0) + coalesce(reply_ns, 0), 0.99) / 1e6 from {table} where fingerprint = ?"
    times = []
    for _ in range(5):
        begin = time.time()
        answer = duckdb.execute(query, [fingerprint]).fetchall()[0][0]
        times.append(time.time() - begin)
    print(f"p99 of a statement with {count} exchanges: {sorted(times)[2]:.2f} s ({min(times):.2f} to {max(times):.2f}): {answer:.3f} ms")
END
