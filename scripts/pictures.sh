#!/bin/bash
# pictures.sh: makes the pictures of README.md in docs/pictures from real runs: report.png, the page that `longwire demo --html` writes, as
# Chromium shows it; top.svg, the screen of `longwire top` over a PostgreSQL server of its own, with the database moved away on the screen.
#
# README.md names figures of top.svg: change them there when the picture is made again.
#
# Needs tmux, Chromium, PostgreSQL's programs. PICTURES_LONGWIRE is another longwire than that of target/release.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/free-port.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=${PICTURES_LONGWIRE:-$target/release/longwire}
scratch=

main() {
    if [ -z "${PICTURES_SERVERS:-}" ]; then
        [ -n "${PICTURES_LONGWIRE:-}" ] || cargo build --release --locked --package longwire
        cargo build --locked --package longwire-testbed --example with_servers
        PICTURES_SERVERS=1 exec "$target/debug/examples/with_servers" scripts/pictures.sh
    fi
    scratch=$(mktemp -d)
    trap 'tmux_ kill-server 2>/dev/null || true; rm -rf "$scratch"' EXIT
    mkdir -p docs/pictures
    report
    top
    ls -l docs/pictures
}

# Up to the chart, in the layout of wide windows.
report() {
    "$longwire" demo --html "$scratch/demo.html" >"$scratch/demo.txt"
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1100,1640 \
        --screenshot="$PWD/docs/pictures/report.png" "file://$scratch/demo.html" 2>"$scratch/chromium.txt"
}

# A shop's page that looks up the author of each of 12 products, eight times a second, and pgbench's own transaction, six times a second.
top() {
    local port name=longwire_pictures
    psql -q -c "create database $name" && PGDATABASE=$name
    export PGDATABASE
    psql -q <<'END'
create table authors as select id, 'author ' || id as name from generate_series(1, 200) as id;
create table products as select id, 'product ' || id as name, 1 + id % 200 as author from generate_series(1, 2000) as id;
alter table authors add primary key (id);
alter table products add primary key (id);
END
    {
        echo 'begin;'
        echo 'select id, name, author from products where id between 100 and 111;'
        for author in $(seq 12); do echo "select name from authors where id = $author;"; done
        echo 'commit;'
    } >"$scratch/page.sql"
    pgbench -i -q -s 1 >"$scratch/init.txt" 2>&1
    port=$(free_port)
    tmux_ new-session -d -x 104 -y 19 env LC_ALL=C.UTF-8 "$longwire" top \
        "postgres://$PGUSER@127.0.0.1:$PGPORT/$PGDATABASE" --listen "127.0.0.1:$port"
    until tmux_ capture-pane -p | grep -q 'q quit'; do sleep 0.1; done
    PGPORT=$port pgbench -n -f "$scratch/page.sql" -R 8 -T 24 >"$scratch/pages.txt" 2>&1 &
    PGPORT=$port pgbench -n -R 6 -T 24 >"$scratch/pgbench.txt" 2>&1 &
    sleep 14
    # 1, 2, 5, 10, 20 ms
    tmux_ send-keys -l +++++
    sleep 3
    tmux_ capture-pane -e -p | python3 scripts/terminal_svg.py 'longwire top, the database moved 20 ms away' \
        >docs/pictures/top.svg
    wait
    tmux_ send-keys q
    PGDATABASE=postgres psql -q -c "drop database $name with (force)"
}

tmux_() { tmux -S "$scratch/socket" -f /dev/null "$@"; }

main
