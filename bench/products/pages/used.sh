#!/bin/bash
# used.sh STACK: the program, and one client that asks for its pages in turn until this is ended.
here=$(cd "$(dirname "$0")" && pwd)
"$here/program.sh" "$1" &
trap 'kill $!' EXIT
until curl -s -o /dev/null http://10.88.1.2:8000/; do sleep 0.1; done
ip netns exec "$CLI" python3 -B - "$here/$1.json" <<'P'
import http.client, json, sys
paths = [op["path"] for op in json.load(open(sys.argv[1]))["ops"]]
connection = http.client.HTTPConnection("10.88.1.2", 8000)
while True:
    for path in paths:
        connection.request("GET", path)
        connection.getresponse().read()
P
