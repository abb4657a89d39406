# Sourced: builds the programs of remedies.sh and spare.sh, and the emulator, into a folder.
programs() {
    local keep=$1
    mkdir -p "$keep"/{python,node,java}
    gcc -O2 -w -o "$keep/reflink" bench/products/reflink.c
    [ -x "$keep/python/bin/python" ] || python3 -m venv "$keep/python"
    "$keep/python/bin/python" -m pip install --quiet --requirement bench/remedies/python/requirements.txt
    cp bench/remedies/node/{app.js,package.json} "$keep/node"
    npm install --silent --prefix "$keep/node"
    mvn --quiet --file bench/remedies/java/pom.xml dependency:copy-dependencies -DoutputDirectory="$keep/java"
    javac -cp "$keep/java/*" -d "$keep/java" bench/remedies/java/Pages.java
}
