#!/bin/bash
# same-records.sh: whether two builds of longwire read the same out of captures: records with exchanges, records without predictions, and all of the text.
#
# same-records.sh OLD NEW CAPTURE...: OLD and NEW are binaries. Compared is every byte but the record of the run itself (its first) and the digests
# of requests, which are keyed anew in every run: each is replaced by the number of its first appearance, so that it is still compared which of them are
# equal. Words that were renamed (RENAMED) are read as the new ones. Ends with status 1 where anything differs.
set -euo pipefail

main() {
    [ $# -ge 3 ] || { echo "usage: same-records.sh OLD NEW CAPTURE..." >&2; exit 2; }
    local old=$1 new=$2 capture view differ=0 compared=0
    shift 2
    for capture in "$@"; do
        for view in "--json --exchanges --rtt 10ms,40ms" "--json --rtt none" "--all --rtt 10ms,40ms"; do
            compared=$((compared + 1))
            if [ "$(sum "$old" "$capture" "$view")" != "$(sum "$new" "$capture" "$view")" ]; then
                echo "differs: read $capture $view"
                differ=1
            fi
        done
    done
    echo "$compared views of $# captures compared"
    exit "$differ"
}

# A sum of what BINARY reads out of CAPTURE, its exit status with it.
sum() {
    local flags status=0
    read -ra flags <<<"$3"
    { "$1" read "$2" "${flags[@]}" 2>&1 || status=$?; echo "status $status"; } |
        perl -ne "$RENAMED"' next if /^\{"type":"conditions"/; s/(_digest":")([0-9a-f]+)"/$1 . ($seen{$2} ||= ++$count) . "\""/ge; print' | md5sum
}

# Perl: kinds of findings that had another name.
RENAMED='s/"control-turns"/"control-round-trips"/g; s/"listener-turn"/"listener-round-trip"/g;'

main "$@"
