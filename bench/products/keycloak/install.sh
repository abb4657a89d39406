#!/bin/bash
# install.sh: Keycloak's distribution for servers from Maven Central, built for PostgreSQL.
set -euo pipefail
. "$(dirname "$0")/../database.sh"
version=26.0.8
mkdir -p "$PRODUCTS/keycloak"
cd "$PRODUCTS/keycloak"
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dartifact="org.keycloak:keycloak-quarkus-dist:$version:zip" -DoutputDirectory=.
unzip -qo "keycloak-quarkus-dist-$version.zip"
rm -rf server
mv "keycloak-$version" server
server/bin/kc.sh build --db=postgres >build.log
