#!/usr/bin/env python3
"""measure.py APP.json [--clients 1,4] [--rtt 2,10,40] [--out FOLDER]

What an application's requests take with its database near and then far, and what longwire predicts from a capture of the near ones. Three network
namespaces (net.sh): $P-cli, $P-web, $P-db; the web server's host has two addresses, as real ones have, and the emulator between it and the
database (reflink.c) is not longwire's. Two alternating halves: near (captured), far at each round trip, near (captured), far again; their difference
says what the measurement itself is worth. Truth goes to FOLDER/cells.jsonl, captures and each request's time stay beside it; score.py then
prints predicted next to measured, and judges other builds by the same folder later. FOLDER/conditions.json has date, machine and each host's congestion control. What `read`, `predict` and `check` print is kept there too.

APP.json: {"start": "command that places its processes with `ip netns exec $WEB ...` and `ip netns exec $DB ...`", "stop": "command",
  "base": "http://10.88.1.2:8000", "n": 20, "warm": 2, "vars": "$PRODUCTS/NAME/vars.json",
  "ops": [{"name": "page", "method": "GET", "path": "/page?u={u}", "body": null, "headers": {}, "match": "regex on operation_name"}]}
The database listens on 10.88.2.2. {u} is a number never used before; {c} is the client's number (from 0), and a name in the
file `vars` (JSON: name -> a list of strings, one for each client; written by `start`) is replaced too. `n` requests an operation and client are
counted, after `warm` rounds of as many. LW names the binary. A cell of which more than 1 % of the requests failed is left out.
"""
import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

import score

HERE = Path(__file__).resolve().parent
PREFIX = os.environ.setdefault("P", "cell")
LONGWIRE = os.environ.get("LW", "target/release/longwire")
NEAR, FAR, WARM, SETTLE = 60, 100, 4, 0.5  # seconds after which an operation's loop ends, however few requests it made


class Requests:
    """What the clients of one operation send, one request after another each."""

    def __init__(self, app, op, clients):
        self.address = urllib.parse.urlparse(op.get("base", app["base"]))
        self.op = op
        self.own = json.loads(Path(os.path.expandvars(app["vars"])).read_text()) if app.get("vars") else {}
        self.left = op.get("n", app.get("n", 20)) * clients
        self.lock = threading.Lock()
        self.times = []
        self.failed = []

    def fill(self, text, client):
        text = text.replace("{c}", str(client))
        return re.sub(r"\{(\w+)\}", lambda m: self.own[m[1]][client] if m[1] in self.own else m[0], text)

    def take(self):
        """A number never used before, or None when enough requests were sent."""
        with self.lock:
            self.left -= 1
            return None if self.left < 0 else str(time.monotonic_ns() // 1000 % 10**9)

    def send(self, connection, client, number):
        body = self.op.get("body")
        body = self.fill(body, client).replace("{u}", number).encode() if body else None
        headers = {name: self.fill(value, client) for name, value in (self.op.get("headers") or {}).items()}
        path = self.fill(self.op["path"], client).replace("{u}", number)
        began = time.perf_counter()
        try:
            connection.request(self.op.get("method", "GET"), path, body, headers)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self.failed.append(repr(error))
            return
        self.times.append((time.perf_counter() - began) * 1000)
        if response.status >= 400:
            self.failed.append(str(response.status))

    def client(self, number, end, least):
        connection = http.client.HTTPConnection(self.address.hostname, self.address.port, timeout=60)
        sent = 0
        while (unique := self.take()) is not None and (sent < least or time.monotonic() < end):
            self.send(connection, number, unique)
            sent += 1

    def run(self, clients, seconds):
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self.client, args=(number, end, 4 if seconds >= NEAR else 1)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"ms": self.times, "failed": self.failed}


def drive(path, clients, seconds, out):
    """All operations, one after another: the part that runs in the clients' namespace."""
    app = json.loads(Path(path).read_text())
    result = {}
    for op in app["ops"]:
        result[op["name"]] = Requests(app, op, clients).run(clients, seconds)
        time.sleep(0.3)
    Path(out).write_text(json.dumps(result))


class Bench:
    """The three hosts, and a folder for what is measured there."""

    def __init__(self, path, out):
        self.path, self.out = path, Path(out)
        self.out.mkdir(parents=True, exist_ok=True)
        if subprocess.run(["ip", "-n", f"{PREFIX}-web", "link", "show", "t0"], capture_output=True).returncode:
            self.net("setup")

    def net(self, *arguments):
        if subprocess.run([HERE / "net.sh", *arguments], stdout=subprocess.DEVNULL).returncode:
            sys.exit(f"measure.py: net.sh {' '.join(arguments)} failed")

    def near(self):
        self.net("near")
        time.sleep(0.3)

    def far(self, rtt):
        """Moves the database; the round trip that ping finds."""
        self.net("far", str(int(rtt * 500)))
        time.sleep(0.2)
        command = ["ip", "netns", "exec", f"{PREFIX}-web", "ping", "-c", "15", "-i", "0.05", "10.88.2.2"]
        times = re.findall(r"time=([\d.]+)", subprocess.run(command, capture_output=True, text=True).stdout)
        if not times:
            sys.exit("measure.py: no ping from the web server to the database")
        return sorted(map(float, times))[len(times) // 2]

    def drive(self, tag, clients, seconds):
        out = self.out / f"{tag}.json"
        command = ["ip", "netns", "exec", f"{PREFIX}-cli", sys.executable, "-B", __file__, "--drive", self.path, str(clients), str(seconds), out]
        subprocess.run(command, check=True)
        return json.loads(out.read_text())

    def captured(self, tag, clients):
        command = ["ip", "netns", "exec", f"{PREFIX}-web", "tcpdump", "-q", "-U", "-B", "32768", "-i", "any"]
        capture = subprocess.Popen(command + ["-w", self.out / f"{tag}.pcap", "tcp and not port 22"], stderr=subprocess.DEVNULL)
        time.sleep(1)
        result = self.drive(tag, clients, NEAR)
        time.sleep(1.2)
        capture.terminate()
        capture.wait()
        return result

    def measure(self, app, clients, rtts):
        """Both halves: {round trip: [(as pinged, requests), ...]} and the near ones."""
        for _ in range(app.get("warm", 1)):
            self.drive("warm", clients, WARM)
        near, far = [], {rtt: [] for rtt in rtts}
        for half in (1, 2):
            self.near()
            near.append(self.captured(f"near-{clients}-{half}", clients))
            for rtt in rtts:
                pinged = self.far(rtt)
                self.drive("settle", min(clients, 2), SETTLE)
                far[rtt].append((pinged, self.drive(f"far-{clients}-{rtt}-{half}", clients, FAR)))
        self.near()
        return near, far

    def keep(self, app, clients, near, far):
        """Truth of each cell, as a line of cells.jsonl."""
        with open(self.out / "cells.jsonl", "a") as lines:
            for op in app["ops"]:
                for halves in far.values():
                    runs = [requests[op["name"]] for _, requests in halves]
                    near_runs = [requests[op["name"]] for requests in near]
                    failed = [reason for run in runs + near_runs for reason in run["failed"]]
                    count = sum(len(run["ms"]) for run in runs)
                    if len(failed) > 0.01 * count:
                        print(f"{op['name']}, {clients} clients, {halves[0][0]} ms: left out, {len(failed)} of {count} requests failed: {failed[0]}")
                        continue
                    near_far = [[round(statistics.median(run["ms"]), 3) for run in some] for some in (near_runs, runs)]
                    cell = {"app": self.path, "op": op["name"], "clients": clients, "rtt": halves[0][0], "near": near_far[0], "far": near_far[1]}
                    lines.write(json.dumps({**cell, "requests": count}) + "\n")

    def name_operations(self, app):
        """Adds longwire's names of the operations, by which tests/golden knows them; those of refused predictions too."""
        cells = list(map(json.loads, (self.out / "cells.jsonl").read_text().splitlines()))
        names = {clients: self.names(clients) for clients in {cell["clients"] for cell in cells}}
        patterns = {op["name"]: score.pattern(op) for op in app["ops"]}
        for cell in cells:
            found = [name for name in names[cell["clients"]] if re.search(patterns[cell["op"]], name)]
            cell["operation_name"] = statistics.mode(found) if found else cell["op"]
        (self.out / "cells.jsonl").write_text("".join(json.dumps(cell) + "\n" for cell in cells))

    def names(self, clients):
        """Of each operation of the capture that is kept."""
        done = subprocess.run([LONGWIRE, "read", score.capture(self.out, clients), "--json"], capture_output=True, text=True)
        records = map(json.loads, done.stdout.splitlines())
        return [record["operation_name"] for record in records if record["type"] == "operation" and record.get("operation_name")]

    def describe(self):
        """Conditions of the measurement: conditions.json."""
        control = ["sysctl", "-n", "net.ipv4.tcp_congestion_control"]
        hosts = {host: subprocess.run(["ip", "netns", "exec", f"{PREFIX}-{host}", *control], capture_output=True, text=True) for host in ("cli", "web", "db")}
        conditions = {
            "date": time.strftime("%FT%TZ", time.gmtime()),
            "kernel": os.uname().release.split("-")[0],
            "processors": os.cpu_count(),
            "load": os.getloadavg()[0],
            "tcp_congestion_control": {host: done.stdout.strip() for host, done in hosts.items()},
        }
        (self.out / "conditions.json").write_text(json.dumps(conditions) + "\n")

    def print_all(self, clients):
        """What a person is told about the second capture."""
        capture = self.out / f"near-{clients}-2.pcap"
        for name, more in (("read", []), ("predict", ["--rtt", "2ms,10ms,40ms", "--clients", str(clients)]), ("check", ["--forbid", "n+1"])):
            done = subprocess.run([LONGWIRE, name, capture, *more], capture_output=True, text=True)
            (self.out / f"{name}-{clients}.txt").write_text(f"{done.stdout}{done.stderr}\nstatus {done.returncode}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("app")
    parser.add_argument("--clients", default="1,4")
    parser.add_argument("--rtt", default="2,10,40")
    parser.add_argument("--out", default="cells-out")
    options = parser.parse_args()
    app = json.loads(Path(options.app).read_text())
    environment = {**os.environ, "WEB": f"{PREFIX}-web", "DB": f"{PREFIX}-db", "CLI": f"{PREFIX}-cli"}
    bench = Bench(options.app, options.out)
    bench.near()
    bench.describe()
    subprocess.run(app["start"], shell=True, env=environment, check=True)
    try:
        for clients in map(int, options.clients.split(",")):
            bench.keep(app, clients, *bench.measure(app, clients, list(map(float, options.rtt.split(",")))))
            bench.print_all(clients)
    finally:
        bench.near()
        if app.get("stop"):
            subprocess.run(app["stop"], shell=True, env=environment, check=False)
    bench.name_operations(app)
    rows = score.score(bench.out, LONGWIRE, [])
    print(score.summary(app.get("name", bench.out.name), rows))


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--drive":
        drive(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5])
    else:
        main()
