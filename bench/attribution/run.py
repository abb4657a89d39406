"""How many statements are assigned to the request that caused them. See bench/attribution.sh."""

import argparse
import http.client
import itertools
import json
import os
import re
import secrets
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "predictions"))
import run as predictions  # noqa: E402
import stacks  # noqa: E402

HERE = Path(__file__).resolve().parent
PORT = stacks.HTTP_PORT
CELLS = [("threads", "same"), ("threads", "mixed"), ("threads", "each"), ("plain", "held"), ("plain", "each"), ("loop", "held"), ("loop", "each"), ("node", "held"), ("node", "each"),
         ("loop", "mixed"), ("go", "held"), ("go", "each"), ("go", "mixed"), ("java", "held"), ("java", "each"), ("java", "mixed")]
# Pages of different statements, one after the other.
MIXED = {"loop": ["item", "list", "buy", "both"], "go": ["item", "list", "buy"], "java": ["item", "list", "buy"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longwire", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True, help="where programs are built and captures kept")
    parser.add_argument("--cells", nargs="+", default=[f"{app}/{page}" for app, page in CELLS])
    parser.add_argument("--at-once", nargs="+", type=int, default=[1, 4, 16, 64])
    parser.add_argument("--pool", type=int, default=8)
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--again", action="store_true", help="only assign again, from the captures that are there")
    settings = parser.parse_args()
    settings.keep, settings.longwire = settings.keep.resolve(), settings.longwire.resolve()
    output = settings.keep / f"attribution-{settings.pool}"
    if not settings.again:
        for stack in ["flask", "starlette", "express", "go"]:
            stacks.prepare(stack, settings.keep)
        build_go(settings.keep)
        build_java(settings.keep)
        output.mkdir(parents=True, exist_ok=True)
        with predictions.postgres(settings.keep / "postgres"):
            for cell in settings.cells:
                visit(settings, output, *cell.split("/"))
    report(settings, output)


def build_go(keep):
    directory = keep / "attribution-go"
    shutil.copytree(keep / "go", directory, dirs_exist_ok=True)
    shutil.copy(HERE / "go/main.go", directory / "main.go")
    stacks.run(["go", "build", "-o", "pages", "."], cwd=directory)


def build_java(keep):
    directory = keep / "attribution-java"
    shutil.copytree(HERE / "java", directory, dirs_exist_ok=True)
    stacks.java(directory)


def command(app, keep):
    python = {"threads": "flask", "loop": "starlette"}.get(app)
    if app == "threads":
        return [keep / python / "venv/bin/gunicorn", "--log-level=error", "--worker-class=gthread", "--workers=1", "--threads=64",
                "--keep-alive=60", f"--chdir={HERE}", f"--bind=127.0.0.1:{PORT}", "threads:app"]
    if app == "plain":
        return [keep / "flask/venv/bin/python", HERE / "plain.py"]
    if app == "loop":
        return [keep / python / "venv/bin/uvicorn", "--log-level=error", f"--app-dir={HERE}", f"--port={PORT}", "loop:app"]
    if app == "java":
        return ["java", "-cp", f"{keep}/attribution-java:{keep}/attribution-java/jars/*", "Pages"]
    if app == "node":
        return ["env", f"NODE_PATH={keep}/express/node_modules", "node", HERE / "node.js"]
    return [keep / "attribution-go/pages"]


def visit(settings, output, app, page):
    environment = os.environ | {"PGHOST": "127.0.0.1", "PGPORT": str(predictions.POSTGRES_PORT), "PGUSER": "postgres",
                                "PGDATABASE": "postgres", "PGSSLMODE": "disable", "PORT": str(PORT), "POOL": str(settings.pool),
                                "PYTHONDONTWRITEBYTECODE": "1"}
    pages = MIXED.get(app, [page]) if page == "mixed" else [page]
    if (app, page) == ("go", "mixed"):
        environment["BACKGROUND"] = "1"
    for carried in [False, True]:
        for at_once in settings.at_once:
            name = output / f"{app}-{page}-{at_once}-{'carried' if carried else 'bare'}.pcap"
            program = subprocess.Popen([str(word) for word in command(app, settings.keep)], env=environment,
                                       stdout=subprocess.DEVNULL, start_new_session=True)
            try:
                wait_until_it_serves(program, pages[0])
                with predictions.sniffing(name):
                    drive(pages, at_once, settings.requests, carried)
            finally:
                os.killpg(program.pid, signal.SIGTERM)
                program.wait()


def wait_until_it_serves(program, page):
    for _ in range(400):
        if program.poll() is not None:
            sys.exit(f"the program ended with {program.returncode}")
        try:
            get(http.client.HTTPConnection("127.0.0.1", PORT), page, 0, False)
            return
        except OSError:
            time.sleep(0.05)
    sys.exit("the program does not serve")


def get(client, page, number, carried):
    headers = {"traceparent": f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"} if carried else {}
    client.request("GET", f"/{page}?r={number}", headers=headers)
    reply = client.getresponse()
    reply.read()
    if reply.status != 200:
        raise OSError(f"status {reply.status}")


def drive(pages, at_once, requests, carried):
    numbers, errors = itertools.count(1), []

    def loop():
        try:
            client = http.client.HTTPConnection("127.0.0.1", PORT)
            while (number := next(numbers)) <= requests:
                get(client, pages[number % len(pages)], number, carried)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=loop) for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        sys.exit(f"/{pages[0]}: {errors[0]}")


def report(settings, output):
    print(f"{'program':<16} {'identifiers':<11} {'at once':>7} {'statements':>10} {'right':>8}   by evidence (right of)")
    for cell in settings.cells:
        for carried in ["bare", "carried"]:
            for at_once in settings.at_once:
                name = output / f"{cell.replace('/', '-')}-{at_once}-{carried}.pcap"
                if name.exists():
                    row(settings, name, cell, carried, at_once)


def row(settings, name, cell, carried, at_once):
    said = subprocess.run([settings.longwire, "read", name, "--json", "--exchanges", "--keep-literals"], capture_output=True, text=True,
                          check=True).stdout
    exchanges = [record for record in map(json.loads, said.splitlines()) if record["type"] == "exchange"]
    truths, requests, total, right, by = asked(name), {}, 0, 0, Counter()
    for record in exchanges:
        if record["protocol"] == "http" and record["at_ns"] in truths:
            requests[record.get("operation")] = truths[record["at_ns"]]
    for record in exchanges:
        if record["protocol"] == "postgres" and (found := re.search(r"/\* r=(\w+) \*/", record.get("literal", ""))) and found[1] != "0":
            owner = requests.get(record.get("operation"), "nobody")
            hit = owner == found[1]
            total, right = total + 1, right + hit
            by[record.get("assigned", "none"), hit] += 1
    kinds = sorted({kind for kind, _ in by})
    shares = ", ".join(f"{kind} {by[kind, True]}/{by[kind, True] + by[kind, False]}" for kind in kinds)
    print(f"{cell:<16} {carried:<11} {at_once:>7} {total:>10} {right / max(total, 1):>8.1%}   {shares}", flush=True)


def asked(name):
    """The number of each request, by when its packet passed."""
    capture, found, at = name.read_bytes(), {}, 24
    while at + 16 <= len(capture):
        seconds, micros, length, _ = struct.unpack("<IIII", capture[at:at + 16])
        packet = capture[at + 16:at + 16 + length]
        if number := re.search(rb"GET /\w+\?r=(\d+) HTTP", packet):
            found[(seconds * 10**6 + micros) * 1000] = number[1].decode()
        at += 16 + length
    return found


if __name__ == "__main__":
    main()
