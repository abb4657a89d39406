#!/bin/bash
# saturation.sh: how far predictions for many clients are from what pgbench measures, where the server's processor is busy all the time.
#
# PostgreSQL has one processor for itself; pgbench and the emulated link share the other, so that what these take is not taken from the
# server. Captured with one client at no distance, predicted with --server-cores 1 --client-cores 1, measured behind `longwire link` with as
# many clients. Each cell has a capture of its own, made just before; the next round visits the cells the other way round. All of it has a higher priority than
# anything else on the machine.
#
# Arguments go to bench/saturation/run.py: --workloads, --clients, --rtts, --rounds, --seconds. About two minutes a workload and round. Needs root
# (tcpdump, namespaces, priorities) and two processors.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export LONGWIRE=${LONGWIRE:-$target/release/longwire}
if [ -z "${SATURATION_BENCH_SERVERS:-}" ]; then
    [ "$LONGWIRE" != "$target/release/longwire" ] || cargo build --release --locked --package longwire
    cargo build --locked --package testbed --example with_servers
    SATURATION_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/saturation.sh "$@"
fi

results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
mkdir -p "$results"
{
    describe_machine
    echo "longwire  $("$LONGWIRE" -V), $(git rev-parse --short HEAD)"
    echo
    python3 -B bench/saturation/run.py --longwire "$LONGWIRE" "$@"
} | tee "$results/saturation.txt"
