# Sourced by remedies.sh and spare.sh in the project's folder.
. bench/machine.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
longwire=${LONGWIRE:-$target/release/longwire}
keep=${BENCH_KEEP:-$target/remedies}
[ -n "${LONGWIRE:-}" ] || cargo build --release --locked --package longwire

# programs: builds them, and the emulator, in $keep.
programs() {
    mkdir -p "$keep"/{python,node,java}
    gcc -O2 -w -o "$keep/reflink" bench/products/reflink.c
    [ -x "$keep/python/bin/python" ] || python3 -m venv "$keep/python"
    "$keep/python/bin/python" -m pip install --quiet --requirement bench/remedies/python/requirements.txt
    cp bench/remedies/node/{app.js,package.json} "$keep/node"
    npm install --silent --prefix "$keep/node"
    mvn --quiet --file bench/remedies/java/pom.xml dependency:copy-dependencies -DoutputDirectory="$keep/java"
    javac -cp "$keep/java/*" -d "$keep/java" bench/remedies/java/Pages.java
}

# record NAME SCRIPT ARGUMENT...: the output of a Python script with real-time priority becomes NAME.txt of today's measurements.
record() {
    local name=$1 results
    shift
    results=measurements/$(date -u +%F)-$(nproc)cpu-linux-$(uname -r | cut -d- -f1)
    mkdir -p "$results"
    {
        describe_machine
        echo "longwire  $("$longwire" -V), $(git rev-parse --short HEAD)"
        echo
        chrt --rr 10 python3 -B "$1" --longwire "$longwire" --keep "$keep" "${@:2}"
    } | tee "$results/$name.txt"
}
