#!/bin/sh
# agent.sh [MINUTES]: does longwire agent stay as it is for a day's worth of traffic? Memory, files, and whether anything is lost while its collector is gone.
#
# A PostgreSQL behind the agent's relay: pgbench with 50,000 different statements, and pgbench that connects anew for each transaction (5,000 a minute). A collector
# of OpenTelemetry that is there, then gone for a third of the time, then there again. Every 10 s the agent's own series are read. At the end the
# agent's summary is compared with what the collector has last received and with what pgbench did.
set -eu
cd "$(dirname "$0")/.."
minutes="${1:-30}"
target="${CARGO_TARGET_DIR:-$PWD/target}"
scripts/collector.sh
[ -x "$target/debug/examples/with_servers" ] || cargo build --locked --package longwire-testbed --example with_servers
[ -n "${PGPORT:-}" ] || exec "$target/debug/examples/with_servers" "$0" "$minutes"

longwire="$target/release/longwire"
work="$(mktemp -d)"
agent= collector= load= connects=
stop() { for one in $load $connects $agent $collector; do kill "$one" 2>/dev/null || true; done; rm -rf "$work"; }
trap stop EXIT
relay="${RELAY_PORT:-26432}" metrics="${METRICS_PORT:-29464}" otlp="${OTLP_PORT:-24318}"

cat >"$work/agent.toml" <<END
[[relay]]
target = "postgres://127.0.0.1:$PGPORT"
listen = "127.0.0.1:$relay"
[windows]
length = "60s"
[prometheus]
listen = "127.0.0.1:$metrics"
[otlp]
endpoint = "http://127.0.0.1:$otlp"
interval = "5s"
traces = 0.01
END
cat >"$work/collector.yaml" <<END
receivers: { otlp: { protocols: { http: { endpoint: '127.0.0.1:$otlp' } } } }
exporters: { file: { path: '$work/received.json', append: true, flush_interval: 100ms } }
service: { telemetry: { metrics: { level: none }, logs: { level: error } }, pipelines: { metrics: { receivers: [otlp], exporters: [file] }, traces: { receivers: [otlp], exporters: [file] } } }
END
# Identifiers, not literals: each is a statement of its own.
cat >"$work/many.sql" <<'END'
\set n random(1, 50000)
select 1 as column_:n;
END
printf 'select 1;\n' >"$work/one.sql"

start_collector() { "$target/debug/otelcol" --config "$work/collector.yaml" 2>"$work/collector.log" & collector=$!; }
figure() { curl -s "http://127.0.0.1:$metrics/metrics" | awk -v name="$1" '$1 == name {print $2}'; }

start_collector
"$longwire" agent --config "$work/agent.toml" 2>"$work/agent.log" & agent=$!
sleep 2
export PGHOST=127.0.0.1
# Many clients at their own pace: what a busy host does, twenty times.
PGPORT=$relay pgbench -n -f "$work/many.sql" -c 20 -j 1 -R "${RATE:-4000}" -T $((minutes * 60)) >"$work/many.log" 2>&1 & load=$!
PGPORT=$relay pgbench -n -C -f "$work/one.sql" -c 4 -j 1 -R 84 -T $((minutes * 60)) >"$work/one.log" 2>&1 & connects=$!
began=$(date +%s)
third=$((minutes * 20))
gone=no
while kill -0 $load 2>/dev/null; do
    passed=$(($(date +%s) - began))
    if [ $gone = no ] && [ $passed -ge $third ]; then kill $collector; wait $collector || true; gone=yes; fi
    if [ $gone = yes ] && [ $passed -ge $((2 * third)) ]; then start_collector; gone=back; fi
    echo "$passed s: $(figure process_resident_memory_bytes) bytes, $(figure process_open_fds) files, $(figure process_cpu_seconds_total) s of processor, exports given up $(figure longwire_export_failed_total), spans dropped $(figure longwire_export_spans_dropped_total)"
    sleep 10
done
wait $load; wait $connects
asked=$(date +%s%N)
kill -TERM $agent; wait $agent
echo "ended after SIGTERM in $((($(date +%s%N) - asked) / 1000000)) ms"
cat "$work/agent.log"
sleep 1
echo "pgbench: $(grep -h 'actually processed' "$work/many.log" "$work/one.log" | tr '\n' ' ')"
python3 - "$work/received.json" <<'END'
import json, sys
count = turns = 0
for line in open(sys.argv[1]):
    for metric in json.loads(line).get("resourceMetrics", [{"scopeMetrics": [{"metrics": []}]}])[0]["scopeMetrics"][0]["metrics"]:
        if metric["name"] == "longwire.target.duration":
            count = sum(int(p["count"]) for p in metric["histogram"]["dataPoints"])
        if metric["name"] == "longwire.target.turns":
            turns = sum(int(p["sum"]) for p in metric["histogram"]["dataPoints"])
print(f"the collector has {count} exchanges, {turns} turns")
END
