#!/bin/bash
# install.sh STACK: one of bench/predictions' programs (flask, express, go), from its registry.
set -euo pipefail
. "$(dirname "$0")/../database.sh"
cd "$(dirname "$0")/../../predictions"
python3 -B -c 'import pathlib, stacks, sys; stacks.prepare(sys.argv[1], pathlib.Path(sys.argv[2]))' "$1" "$PRODUCTS"
