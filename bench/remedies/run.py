"""Measures pages with a waste and without it, near and far. See ../remedies.sh"""

import argparse
import gzip
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import time

from hosts import CLIENT, PREFIX, WEB, Hosts, inside, run
from servers import Servers, until

HERE = pathlib.Path(__file__).resolve().parent
RTTS = [2, 10, 40]
PORT = 8000
# Each: how it is started, the waste it has (kind, and a part of its statement), and what mends it.
APPS = {
    "django": (["{keep}/python/bin/python", "{here}/python/orders.py"], ("n+1", "customers"), "prefetch_related"),
    "sqlalchemy": (["{keep}/python/bin/python", "{here}/python/units.py"], ("control-round-trips", "PING"), "no pool_pre_ping"),
    "redis-py": (["{keep}/python/bin/python", "{here}/python/cache.py"], ("n+1", "GET"), "MGET"),
    "mysql2": (["node", "{keep}/node/app.js"], ("row-by-row", "insert"), "one INSERT of 30 rows"),
    "pgjdbc": (["java", "-cp", "{keep}/java/*:{keep}/java", "Pages"], ("small-fetch", ""), "setFetchSize(1000)"),
    "lib-pq": (["{keep}/go/pages"], ("one-shot-prepare", ""), "binary_parameters=yes"),
    "pdo": (["{here}/php/start.sh"], ("reconnect", ""), "PDO::ATTR_PERSISTENT"),
}


def driven(count, *paths):
    answer = run(*inside(CLIENT, sys.executable, str(HERE / "drive.py"), str(PORT), str(count), *paths), capture_output=True, text=True)
    times = json.loads(answer.stdout)
    return {path: statistics.median(of_path) for path, of_path in times.items()}, times


def captured(path, count):
    """The wasteful page alone, at the web host, as somebody would capture it."""
    command = ["tcpdump", "-q", "-U", "-B", "32768", "-i", "any", "-w", str(path), "tcp"]
    capture = subprocess.Popen(inside(WEB, *command), stderr=subprocess.DEVNULL)
    time.sleep(1)
    median, _ = driven(count, "/page")
    time.sleep(1)
    capture.terminate()
    capture.wait()
    return median["/page"]


def measured(name, hosts, keep, count, rtts):
    start, _, _ = APPS[name]
    command = [part.format(here=HERE, keep=keep) for part in start] + [str(PORT)]
    log = open(keep / f"{name}.log", "w")
    hosts.near()
    app = subprocess.Popen(inside(WEB, *command), stdout=log, stderr=log)
    try:
        until(lambda: subprocess.run(inside(CLIENT, sys.executable, str(HERE / "drive.py"), str(PORT), "1", "/page", "/mended"), capture_output=True).returncode == 0)
        driven(60, "/page", "/mended")
        near_captured = captured(keep / f"{name}.pcap", count)
        near, _ = driven(count, "/page", "/mended")
        cells = []
        for rtt in rtts:
            real = hosts.far(rtt)
            driven(3, "/page", "/mended")
            far, times = driven(count, "/page", "/mended")
            cells.append({"rtt_ms": real, "page_ms": far["/page"], "mended_ms": far["/mended"], "times": times})
        return {"app": name, "near_captured_ms": near_captured, "near_ms": near, "cells": cells}
    finally:
        app.send_signal(signal.SIGTERM)
        app.wait()


def predicted(longwire, capture, truth, kind, statement):
    """For each round trip of the truth, what the page takes with its waste, and what longwire says of it with the remedy: all in ms."""
    rtts = ",".join(f"{cell['rtt_ms']}ms" for cell in truth["cells"])
    lines = run(longwire, "read", capture, "--json", "--rtt", rtts, "--host", "web=10.88.1.2,10.88.2.1", capture_output=True, text=True).stdout.splitlines()
    records = [json.loads(line) for line in lines]
    for cell in truth["cells"]:
        here = [one for one in records if abs(one.get("rtt_ns", 0) / 1e6 - cell["rtt_ms"]) < 0.001]
        page = next(one for one in here if one["type"] == "prediction" and one["operation_name"] == "GET /page")
        found = [one for one in here if one["type"] == "finding" and one["kind"] == kind]
        found = [one for one in found if statement in one.get("fingerprint", "") and "remedied_ns" in one]
        yield cell, page["duration_ns"] / 1e6, together(page["duration_ns"], found)


def together(page, found):
    """Several findings are mended together (a statement prepared each is one): their savings add up."""
    if not found:
        return None
    if len(found) == 1:
        return [found[0][key] / 1e6 for key in ("remedied_ns", "remedied_low_ns", "remedied_high_ns")]
    saved = [sum(one[key] / one["operations"] for one in found) for key in ("saves_ns", "saves_high_ns", "saves_low_ns")]
    return [(page - one) / 1e6 for one in saved]


def table(longwire, keep, names):
    print("ms; the page with its waste and the page mended, predicted from the capture of the first beside its database / measured")
    print(f"{'application':<11}{'remedy':<24}{'rtt':>6}{'page':>18}{'mended':>18}{'bounds':>20}{'error':>9}{'of saving':>11}")
    errors, savings, inside = [], [], []
    for name in names:
        truth = json.loads((keep / f"{name}.json").read_text())
        _, waste, remedy = APPS[name]
        for cell, page, mended in predicted(longwire, keep / f"{name}.pcap", truth, *waste):
            head = f"{name:<11}{remedy:<24}{cell['rtt_ms']:>6.2f}{page:>9.2f} /{cell['page_ms']:>7.1f}"
            if mended is None:
                print(head, " no such finding")
                errors.append(float("inf"))
                continue
            likely, low, high = mended
            errors.append(100 * (likely / cell["mended_ms"] - 1))
            saved = cell["page_ms"] - cell["mended_ms"]
            savings.append(100 * ((page - likely) / saved - 1))
            inside.append(low <= cell["mended_ms"] <= high)
            print(f"{head}{likely:>9.2f} /{cell['mended_ms']:>7.2f}   {low:>7.2f} to {high:>7.2f}{errors[-1]:>+7.1f} %{savings[-1]:>+9.1f} %", "" if inside[-1] else " outside")
    for what, all_of_it in (("mended page", errors), ("saving", savings)):
        sizes = sorted(abs(one) for one in all_of_it)
        print(f"{what}: median error {statistics.median(sizes):.1f} %, worst {sizes[-1]:.1f} %")
    print(f"inside their bounds: {sum(inside)} of {len(inside)}")


def record(keep, folder, names):
    """Keeps captures, and the truth without its single times, as the tests read them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        truth = json.loads((keep / f"{name}.json").read_text())
        _, (kind, statement), remedy = APPS[name]
        cells = [{key: round(cell[key], 3) for key in ("rtt_ms", "page_ms", "mended_ms")} for cell in truth["cells"]]
        kept = {"app": name, "kind": kind, "statement": statement, "remedy": remedy, "cells": cells}
        (folder / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")
        capture = (keep / f"{name}.pcap").read_bytes()
        (folder / f"{name}.pcap.gz").write_bytes(gzip.compress(capture, mtime=0))


def measure(asked, names):
    hosts = Hosts(str(asked.keep / "reflink"))
    servers = None
    try:
        servers = Servers(f"/var/tmp/longwire-{PREFIX}")
        for name in names:
            truth = measured(name, hosts, asked.keep, asked.count, [float(rtt) for rtt in asked.rtts.split(",")])
            (asked.keep / f"{name}.json").write_text(json.dumps(truth))
    finally:
        if servers:
            servers.stop()
        hosts.gone()


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--longwire", default="target/release/longwire")
    arguments.add_argument("--again", action="store_true", help="only predict, from what was measured before")
    arguments.add_argument("--record", type=pathlib.Path, help="a folder that captures and truth are written to")
    arguments.add_argument("--keep", type=pathlib.Path, required=True)
    arguments.add_argument("--apps", default=",".join(APPS))
    arguments.add_argument("--count", type=int, default=20)
    arguments.add_argument("--rtts", default=",".join(map(str, RTTS)))
    asked = arguments.parse_args()
    names = asked.apps.split(",")
    if not asked.again:
        measure(asked, names)
    if asked.record:
        record(asked.keep, asked.record, names)
    table(asked.longwire, asked.keep, names)


if __name__ == "__main__":
    main()
