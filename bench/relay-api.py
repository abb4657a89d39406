"""One run of relay-api.sh. Arguments: longwire, toxiproxy's server."""

import json
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

LATENCIES = (0, 1, 5, 20, 100)
ROUND_TRIPS = 61


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def call(api, path, body):
    request = urllib.request.Request(api + path, method="POST", data=json.dumps(body).encode())
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def connected(address):
    host, port = address.rsplit(":", 1)
    until = time.monotonic() + 10
    while True:
        try:
            connection = socket.create_connection((host, int(port)))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def round_trip(connection):
    times = []
    for _ in range(ROUND_TRIPS):
        began = time.perf_counter()
        connection.sendall(b"PING\r\n")
        connection.recv(100)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def main(longwire, toxiproxy):
    redis_port, *ports = (free_port() for _ in range(3))
    commands = {
        "longwire": [longwire, "relay", "--api", f"127.0.0.1:{ports[0]}"],
        "toxiproxy": [toxiproxy, "-host", "127.0.0.1", "-port", str(ports[1])],
    }
    redis = ["redis-server", "--port", str(redis_port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    programs = [subprocess.Popen(command, **quiet) for command in [redis, *commands.values()]]
    try:
        upstream = f"127.0.0.1:{redis_port}"
        connected(upstream).close()
        apis, connections, without = {}, {}, {}
        for name, port in zip(commands, ports):
            connected(f"127.0.0.1:{port}").close()
            apis[name] = f"http://127.0.0.1:{port}"
            proxy = call(apis[name], "/proxies", {"name": "redis", "listen": "127.0.0.1:0", "upstream": upstream})
            connections[name] = connected(proxy["listen"])
            round_trip(connections[name])
            without[name] = round_trip(connections[name])
            call(apis[name], "/proxies/redis/toxics", {"type": "latency", "attributes": {"latency": 0}})
        for latency in LATENCIES:
            for name, api in apis.items():
                call(api, "/proxies/redis/toxics/latency_downstream", {"attributes": {"latency": latency}})
                added = round_trip(connections[name]) - without[name]
                print(f"  latency {latency:3} ms  {name:9}  added {added:8.3f} ms")
    finally:
        for program in programs:
            program.kill()


main(*sys.argv[1:])
