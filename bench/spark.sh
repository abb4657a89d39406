#!/bin/sh
# spark.sh CAPTURE [HOSTS]: what do two executors bring, and what does a terabyte cost?
#
# The capture (pcap) is cut into files of 100,000 packets and copied for each of 8 HOSTS. One executor with one core, then two, alternating, 3 rounds in clusters of their own
# (Spark's `local-cluster`); the time is that of `longwire_spark.read` once all executors are there. The rows of each round are compared with `longwire read`.
# Needs HOSTS times the capture's size in TMPDIR, python3 with venv, Java, editcap.
set -eu
cd "$(dirname "$0")/.."
longwire="${CARGO_TARGET_DIR:-$PWD/target}/release/longwire"
capture="$1" hosts="${2:-8}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for host in $(seq "$hosts"); do
    mkdir -p "$work/captures/host$host"
    [ "$host" = 1 ] && editcap -F pcap -c 100000 "$capture" "$work/captures/host1/run.pcap" || cp "$work"/captures/host1/* "$work/captures/host$host"
done
bytes=$(du --bytes --summarize "$work/captures" | cut -f1)
"$longwire" read --json "$work"/captures/host1/* >"$work/direct.json"
python3 -m venv "$work/python" && "$work/python/bin/pip" --quiet install pyspark==4.3.0
cat >"$work/drive.py" <<'END'
import json, os, sys, time
from pyspark.sql import SparkSession
import longwire_spark
work, executors, longwire = sys.argv[1], int(sys.argv[2]), sys.argv[3]
spark = (SparkSession.builder.master(f"local-cluster[{executors},1,1024]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1")
         .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"]).getOrCreate())
while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < executors + 1:
    time.sleep(0.1)
# Python's processes of executors are started by the first tasks.
spark.sparkContext.parallelize(range(executors), executors).map(lambda number: time.sleep(1)).collect()
begin = time.monotonic()
results = longwire_spark.read(spark, longwire_spark.runs_of(f"{work}/captures/*/*"), f"{work}/tables", longwire)
seconds = time.monotonic() - begin
direct = [json.loads(line) for line in open(f"{work}/direct.json") if line.startswith('{"type":"summary"')][0]
same = all(result.status == 0 and all(getattr(result, key) == direct[key] for key in ("connections", "exchanges", "turns")) for result in results)
print(f"{seconds:.1f} {'same rows' if same else 'OTHER ROWS'}; longwire's own seconds {sum(result.seconds for result in results):.1f}")
END
export PYTHONPATH="$PWD/integrations/spark" PYTHONDONTWRITEBYTECODE=1 SPARK_LOCAL_HOSTNAME=localhost
echo "$hosts hosts, $bytes bytes"
for round in 1 2 3; do
    for executors in 1 2; do
        rm -rf "$work/tables"
        echo "round $round: executors $executors, seconds $("$work/python/bin/python" "$work/drive.py" "$work" $executors "$longwire" 2>"$work/log" || tail -5 "$work/log")"
    done
done | tee "$work/rounds"
awk -v bytes="$bytes" '$4 == "1," {one = $6; all += one} $4 == "2," {ratio[++n] = one / $6}
    END {printf "one executor / two: %.2f, %.2f, %.2f; one core reads %.0f MB/s: %.1f hours of it for a terabyte\n", ratio[1], ratio[2], ratio[3], bytes * n / all / 1e6, 1e12 / (bytes * n / all) / 3600}' "$work/rounds"
