#!/bin/bash
# split.sh: whether the throughput that `longwire split` predicts elsewhere is the one measured there. PostgreSQL and MariaDB in a namespace of their own
# (bench/products/database.sh), several statements, 1 and 8 clients, with and without one processor busy; truth is `longwire load` behind bench/products/net.sh,
# an emulator that is not longwire's: before the prediction and after it. `taskset -c 0 bench/split.sh` leaves all but the emulator one processor. Arguments go to bench/split.py (--servers, --rtts, --clients, --busy). Needs root.
# A server and five statements take about four minutes. LONGWIRE names the program.
set -euo pipefail
cd "$(dirname "$0")/.."
export LONGWIRE=${LONGWIRE:-$(realpath -m "${CARGO_TARGET_DIR:-target}")/release/longwire}
export PRODUCTS=${PRODUCTS:-${TMPDIR:-/tmp}/split-servers} CELLS=${CELLS:-${TMPDIR:-/tmp}/split-cells} P=split DB=split-db
. bench/products/database.sh
bench/products/net.sh setup
trap 'stop_postgres split || true; stop_mariadb split || true; bench/products/net.sh gone' EXIT
start_postgres split
start_mariadb split
. bench/machine.sh
describe_machine
echo "longwire  $("$LONGWIRE" -V)"
echo
ip netns exec split-web python3 -B bench/split.py "$@"
