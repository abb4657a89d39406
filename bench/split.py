"""Predictions of `longwire split` beside what `longwire load` reaches behind an emulated link. See bench/split.sh."""

import argparse
import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile

LONGWIRE = os.environ["LONGWIRE"]
NET = str(pathlib.Path(__file__).parent / "products" / "net.sh")
TARGETS = {"postgres": "postgres://split:demo@10.88.2.2/split", "mariadb": "mysql://split:demo@10.88.2.2/split"}
COMPUTE = {
    "postgres": "select sum(i) from generate_series(1, 20000) as i;\n",
    "mariadb": "select benchmark(30000, md5('a'));\n",
}
ROWS = {
    "postgres": "select repeat('x', 100) from generate_series(1, 100);\n",
    "mariadb": "select repeat('x', 100) from seq_1_to_100;\n",
}


KEPT = ["clients", "rtt_ns", "transaction_ns", "unscaled_low_ns", "unscaled_high_ns", "bounds_class", "refused"]


def statements(server):
    return {
        "select 1": "select 1;\n",
        "compute": COMPUTE[server],
        "100 rows": ROWS[server],
        "transaction": "begin;\nselect 1;\n" + COMPUTE[server] + "commit;\n",
        "write": "insert into split (n) values (1);\n",
    }


def main():
    listed = lambda text: text.split(",")
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=listed, default=list(TARGETS))
    parser.add_argument("--statements", type=listed, default=None)
    parser.add_argument("--rtts", type=listed, default=["2", "10"], help="ms")
    parser.add_argument("--clients", type=listed, default=["1", "8"])
    parser.add_argument("--seconds", default="2s", help="of each measurement")
    parser.add_argument("--visit", default="1s")
    parser.add_argument("--rounds", default="5")
    parser.add_argument("--busy", action="store_true", help="keep one processor busy")
    parser.add_argument("--json", action="store_true", help="cells as JSON, as tests/split keeps them")
    asked = parser.parse_args()
    with busy() if asked.busy else contextlib.nullcontext():
        for server in asked.servers:
            for name, script in statements(server).items():
                if asked.statements is None or name in asked.statements:
                    compare(server, name, script, asked)


def compare(server, name, script, asked):
    prepare(server)
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        work = [TARGETS[server], "-f", file.name]
        places, first = far(work, asked)
        records = split(work, places, asked)
        _, second = far(work, asked)
    for rtt, place in places.items():
        for clients in asked.clients:
            show(server, name, clients, rtt, records[int(clients), place], [first[clients, rtt], second[clients, rtt]], asked)


def prepare(server):
    """A table for writes; the first connections do not count."""
    key = "serial" if server == "postgres" else "int auto_increment"
    setup = f"drop table if exists split; create table split (id {key} primary key, n int)"
    if server == "postgres":
        subprocess.run(["psql", "-q", TARGETS[server], "-c", "set client_min_messages = error", "-c", setup], check=True)
    else:
        subprocess.run(["mariadb", "-h10.88.2.2", "-usplit", "-pdemo", "split", "-e", setup], check=True)


def far(work, asked):
    """The round-trip times there, in microseconds, and transactions a second."""
    places, measured = {}, {}
    for rtt in asked.rtts:
        subprocess.run(["taskset", "-c", f"0-{os.cpu_count() - 1}", NET, "far", str(int(float(rtt) * 500))], check=True)
        places[rtt] = ping()
        for clients in asked.clients:
            measured[rtt, clients] = load(work, clients, asked.seconds)
    subprocess.run([NET, "near"], check=True)
    return places, {(clients, rtt): value for (rtt, clients), value in measured.items()}


def ping():
    out = subprocess.run(["ping", "-q", "-c", "20", "-i", "0.02", "10.88.2.2"], check=True, capture_output=True, text=True).stdout
    return round(float(re.search(r"= ([\d.]+)/", out)[1]) * 1e3)


def load(work, clients, seconds):
    records = run("load", *work, "-c", clients, "-T", seconds)
    return next(record for record in records if record["type"] == "summary")["per_second"]


def split(work, places, asked):
    links = [flag for rtt in places.values() for flag in ["--link", f"rtt={rtt}us"]]
    records = run("split", *work, "-c", ",".join(asked.clients), "--rounds", asked.rounds, "-T", asked.visit, *links)
    return {(record["clients"], record["rtt_ns"] // 1000): record for record in records if record["type"] == "elsewhere"}


def run(*command):
    done = subprocess.run([LONGWIRE, *command, "--json"], check=True, capture_output=True, text=True)
    return list(map(json.loads, done.stdout.splitlines()))


def show(server, name, clients, rtt, record, measured, asked):
    if asked.json:
        kept = {key: record[key] for key in KEPT if key in record}
        alone = "one processor" if len(os.sched_getaffinity(0)) == 1 else "idle"
        conditions = "busy" if asked.busy else alone
        print(json.dumps({"server": server, "statement": name, "conditions": conditions, "measured": measured, **kept}), flush=True)
        return
    cell = f"{server:>8} {name:>11} {clients:>3} clients {rtt:>3} ms"
    runs = " ".join(f"{value:>8.1f}" for value in measured)
    if "refused" in record:
        print(f"{cell} refused: {record['refused']}; measured {runs}", flush=True)
        return
    truth = statistics.mean(measured)
    low, high = (int(clients) / record[key] * 1e9 for key in ["high_ns", "low_ns"])
    held = "held" if low <= truth <= high else "OUT"
    print(f"{cell} predicted {record['per_second']:>8.1f} [{low:>8.1f} {high:>8.1f}] measured {runs} {record['per_second'] / truth - 1:>+7.1%} {held}", flush=True)


@contextlib.contextmanager
def busy():
    other = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    try:
        yield
    finally:
        other.kill()
        other.wait()


main()
