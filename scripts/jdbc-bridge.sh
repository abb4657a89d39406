#!/bin/sh
# jdbc-bridge.sh: longwire-jdbc.jar, through which JDBC drivers are reached, by Maven in bridges/jdbc/target; scripts/cached.sh keeps it.
set -eu
cd "$(dirname "$0")/.."
jar=bridges/jdbc/target/longwire-jdbc.jar
if [ "${1:-}" = build ]; then
    mvn --quiet --batch-mode --file bridges/jdbc/pom.xml package
    cp "$jar" "$OUT"
    exit
fi
scripts/cached.sh longwire-jdbc "$jar" --of "$(javac -version 2>&1)" bridges/jdbc scripts/jdbc-bridge.sh -- scripts/jdbc-bridge.sh build
# No older than its sources, by which tests see whether it is theirs.
touch "$jar"
