#!/bin/bash
# tunnel-soak.sh: 10 GB of mixed traffic over 1,000 streams through `longwire tunnel near` and `far`, every byte compared at both
# ends, at levels 0, 1, 6, 9 and auto; a far end that is killed; a slow reader among fast ones; a link that stops; a small exchange
# beside a large result.
#
# What is done is crates/longwire/tests/tunnel_soak, of which `make test` runs a few seconds. Ends with 1 when a byte differs, a
# stream ends otherwise than it should, or an end of the tunnel takes more memory than documented.
#
# SOAK_PAYLOAD (10GB), SOAK_STREAMS (1000), SOAK_LARGEST (4MiB), SOAK_KILLS (20), SOAK_SEED (1) change the run; arguments are names
# of phases: mixed killed slow outage beside. Needs to be root, or a system that lets ordinary users make namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/machine.sh

results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
mkdir -p "$results"
cargo test --release --locked --package longwire --test tunnel_soak --no-run
{
    describe_machine
    echo "longwire  $(git rev-parse --short HEAD)"
    echo
    cargo test --release --locked --quiet --package longwire --test tunnel_soak -- \
        --payload="${SOAK_PAYLOAD:-10GB}" --streams="${SOAK_STREAMS:-1000}" --largest="${SOAK_LARGEST:-4MiB}" \
        --kills="${SOAK_KILLS:-20}" --life=3s --measure=3s --rounds=5 --seed="${SOAK_SEED:-1}" "$@" 2>&1
} | tee "$results/tunnel-soak.txt"
