#!/bin/bash
# spare.sh: whether `--spare` proves of a finding what its real fix gives.
#
# Seven programs, each with a waste and the same page without it: Django (a query for each row -> select_related), Express (a loop -> a join), HikariCP
# and pgjdbc (single inserts -> one batch), PDO (a connection for each request -> a kept one), SQLAlchemy and mysql2 (the same -> a pool); and Express
# once more, whose page asks 24 queries at once. Each runs behind `longwire relay`: without a link, with 5 and with 20 ms, both pages in turn, in alternating blocks. The
# distance's part of the real fix is [before(d) - after(d)] - [before(0) - after(0)]; next to it what `relay --link d --spare` proves from the first page
# alone, what `watch --prove` proves by itself, and what `read` promises from a recording without distance. Of all connections, both legs of the relay are captured while it spares: same
# bytes, same turns. One program is also measured behind an emulator that is not longwire's (bench/products/reflink.c).
#
# Arguments go to bench/spare/run.py: --apps, --links, --count, --blocks, --parts. About five minutes. Needs root (namespaces, tcpdump), gcc,
# PostgreSQL, MariaDB, Redis, tshark, Python, Node, a JDK and PHP. Libraries come from PyPI, npm and Maven Central; programs are those of remedies.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/remedies/programs.sh

export BENCH_HOSTS=${BENCH_HOSTS:-spare}
programs >&2
record spare bench/spare/run.py "$@"
