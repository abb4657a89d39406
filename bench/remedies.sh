#!/bin/bash
# remedies.sh: whether a page takes, once a finding's remedy is applied, what `longwire read` said that it would.
#
# Seven programs with frameworks and drivers from registries (Django, SQLAlchemy, redis-py, mysql2 of Node, pgjdbc, lib/pq, PDO), each with one
# waste and the same page without it, on three hosts (network namespaces); between web server and database a small emulator of its own
# (bench/products/reflink.c), which is not longwire's. The wasteful page is captured at the web server with the database beside it; then both pages are
# measured in turn, 2, 10 and 40 ms away. Programs, servers and emulator have real-time priority, so that what else the machine does lengthens nothing.
#
# Arguments go to bench/remedies/run.py: --apps, --count, --rtts; --again only predicts once more. About four minutes. Needs root (namespaces, tcpdump),
# gcc, PostgreSQL, MariaDB, Redis, Python, Node, a JDK, Go and PHP. Libraries come from PyPI, npm, Maven Central and the Go module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/remedies/programs.sh

mkdir -p "$keep/go"
programs >&2
(cd bench/remedies/go && go build -o "$keep/go/pages" .) >&2
record remedies bench/remedies/run.py "$@"
