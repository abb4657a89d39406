#!/bin/bash
# install.sh: builds Camunda 7 with its REST interface from Maven Central into $PRODUCTS/camunda.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../database.sh"
build=$PRODUCTS/camunda/build
mkdir -p "$build/src/main/java/app"
cp "$here/pom.xml" "$build/"
cp "$here/Main.java" "$build/src/main/java/app/"
cd "$build"
mvn -q -B package
