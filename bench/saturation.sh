#!/bin/bash
# saturation.sh: how far predictions for many clients are from what pgbench measures, where the server's processor is busy all the time.
#
# PostgreSQL has one processor for itself; pgbench and the emulated link share the other, so that what these take is not taken from the
# server. Captured with one client at no distance, predicted with --server-cores 1 --client-cores 1, and measured with as many clients twice:
# with a pause of a round trip before each statement, a distance that takes no processor time, and behind `longwire link`. Next to
# both, what server, load and emulator used of their processors: where the emulator's is full, it is the emulator that is measured. Each cell has
# a capture of its own, made just before; the next round visits the cells the other way round. All of it has a higher priority than anything else on
# the machine.
#
# Arguments go to bench/saturation/run.py: --workloads, --clients, --rtts, --rounds, --seconds; --before LONGWIRE predicts with an earlier build
# from the same captures. About two minutes a workload and round. `bench/saturation.sh sources` goes to bench/saturation/sources.py: few
# cells, each measured twice both ways, so that the error of the model, the emulator's and the machine's can be told apart; `bench/saturation.sh split`
# to bench/saturation/split.py: the shares of `longwire split` and the kernel's account of the server, and its predictions for pauses (`--shared`: server and clients on both processors). Needs root (tcpdump, namespaces, priorities) and two
# processors.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export LONGWIRE=${LONGWIRE:-$target/release/longwire}
if [ -z "${SATURATION_BENCH_SERVERS:-}" ]; then
    [ "$LONGWIRE" != "$target/release/longwire" ] || cargo build --release --locked --package longwire
    cargo build --locked --package longwire-testbed --example with_servers
    SATURATION_BENCH_SERVERS=1 exec "$target/debug/examples/with_servers" bench/saturation.sh "$@"
fi

results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
mkdir -p "$results"
script=run file=saturation.txt
case "${1:-}" in
    sources) script=sources file=saturation-sources.txt; shift ;;
    split) script=split file=split.txt; shift ;;
esac
{
    describe_machine
    echo "longwire  $("$LONGWIRE" -V), $(git rev-parse --short HEAD)"
    echo
    python3 -B "bench/saturation/$script.py" --longwire "$LONGWIRE" "$@"
} | tee "$results/$file"
