"""drive.py PORT N PATH...: asks for the pages in turn, N times each, on kept connections; the times in ms as JSON."""

import http.client
import json
import sys
import time

port, count, paths = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
connections = {path: http.client.HTTPConnection("10.88.1.2", port, timeout=60) for path in paths}
times = {path: [] for path in paths}
for _ in range(count):
    for path, connection in connections.items():
        begin = time.perf_counter()
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        times[path].append((time.perf_counter() - begin) * 1000)
        if response.status != 200:
            sys.exit(f"{path} of port {port}: status {response.status}")
json.dump(times, sys.stdout)
