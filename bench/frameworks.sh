#!/bin/bash
# frameworks.sh: how far predictions are from what users of seven frameworks would see, with the distance of `longwire watch --link`.
#
# Django (gunicorn, psycopg 3), FastAPI (SQLAlchemy 2, asyncpg), Express (pg), Hibernate 6 (HikariCP), Go (pgx), PHP (PDO, php-fpm, nginx)
# and Sequel (Sinatra, puma). /n1 lists 12 items and looks up the author of each, by the framework's lazy loading where it has one;
# /joined loads them with the list, by the framework's eager loading. One and four clients, 5 and 20 ms. A run of bench/predictions.sh,
# which takes the same arguments and says the rest; the programs are next to it. docs/frameworks has a page for each.
set -euo pipefail
BENCH_NAME=frameworks exec "$(dirname "$0")/predictions.sh" --behind watch --pages n1 joined \
    --stacks django fastapi express hibernate go php sequel "$@"
