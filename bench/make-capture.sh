#!/bin/bash
# make-capture.sh FILE MEGABYTES [small]: captures real traffic of pgbench with PostgreSQL and of mariadb-slap with MariaDB,
# all at once, until FILE is that large; with `small`, only the former's shortest statements. Started beside the servers by with_servers; capturing needs root.
# Writes the ports to FILE.ports (PostgreSQL's, MariaDB's).
set -euo pipefail

file=$1
megabytes=$2
workload=${3:-all}
scratch=$(mktemp -d)
workers=()

main() {
    trap finish EXIT
    prepare
    tcpdump -i lo -n -B 1048576 -s 0 -Z root -w "$file" \
        "tcp port $PGPORT or tcp port $MYSQL_TCP_PORT" 2>"$scratch/tcpdump.log" &
    local tcpdump=$!
    until grep -q 'listening on' "$scratch/tcpdump.log"; do sleep 0.1; done
    start_workloads
    while [ "$(stat -c %s "$file")" -lt $((megabytes * 1000 * 1000)) ]; do sleep 0.2; done
    # The workloads end while tcpdump still listens: the capture has their last words.
    stop_workloads
    sleep 1
    kill -INT "$tcpdump"
    wait "$tcpdump" || true
    grep 'packets dropped by kernel' "$scratch/tcpdump.log"
    echo "$PGPORT $MYSQL_TCP_PORT" >"$file.ports"
}

prepare() {
    pgbench -i -q -s 10 >/dev/null 2>&1
    # 2,000 statements whose literals differ: point look-ups, ranges, joins and single inserts.
    mariadb --no-defaults --protocol=tcp -u "$MYSQL_USER" "$MYSQL_DATABASE" -e '
        create table product (id int primary key, name varchar(40), price decimal(10,2));
        create table sale (id int primary key auto_increment, product int, amount int, at timestamp default now());
        insert into product select seq, concat("product ", seq), seq / 7 from seq_1_to_10000;
        insert into sale (product, amount) select 1 + seq % 10000, seq % 9 from seq_1_to_50000;
        alter table sale add index (product)'
    awk 'BEGIN {
        srand(7)
        for (i = 0; i < 500; i++) {
            p = 1 + int(rand() * 9900)
            printf "select name, price from product where id = %d;\n", p
            printf "select id, name, price from product where id between %d and %d;\n", p, p + 40
            printf "select p.name, sum(s.amount) from sale s join product p on p.id = s.product where p.id in (%d, %d) group by p.name;\n", p, p + 3
            printf "insert into sale (product, amount) values (%d, %d);\n", p, i % 9
        }
    }' >"$scratch/shop.sql"
    cat >"$scratch/page.sql" <<'END'
\set first random(1, 999000)
select aid, bid, abalance, filler from pgbench_accounts where aid between :first and :first + 30;
END
}

start_workloads() {
    in_background pgbench -n -S -M simple -c 2 -T 86400
    in_background pgbench -n -S -M prepared -c 2 -T 86400
    in_background pgbench -n -M extended -c 2 -T 86400
    [ "$workload" = all ] || return 0
    in_background pgbench -n -M simple -f "$scratch/page.sql" -c 1 -T 86400
    in_background mariadb-slap --no-defaults --protocol=tcp --host="$MYSQL_HOST" --port="$MYSQL_TCP_PORT" \
        --user="$MYSQL_USER" --create-schema="$MYSQL_DATABASE" --no-drop --delimiter=';' \
        --query="$scratch/shop.sql" --concurrency=4 --number-of-queries=100000000
}

in_background() {
    "$@" >/dev/null 2>&1 &
    workers+=($!)
}

stop_workloads() {
    for worker in "${workers[@]}"; do kill "$worker" 2>/dev/null || true; done
    for worker in "${workers[@]}"; do wait "$worker" 2>/dev/null || true; done
    workers=()
}

finish() {
    stop_workloads
    rm -rf "$scratch"
}

main
