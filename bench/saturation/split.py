"""`longwire split` at many clients: its shares compared with the kernel's account of the server, and its predictions with pauses. See bench/saturation.sh.

The server's share is what its sessions computed or waited for a processor (schedstat), divided by the number of clients: at any time so many
of these are at the server, so by Little's law it is that part of a transaction. A pause of a round trip before each statement is a distance that takes no
processor time.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile

import processors
from workload import NEAR, Place, Server, run, wake_on_time

WORKLOADS = {"select-1": "select 1;\n", "select-only": None, "aggregate": None}


def main():
    asked = arguments()
    server = Server()
    os.chdir(tempfile.mkdtemp(prefix="split-"))
    print(f"{'':<12} {'clients':>7} {'a second':>8}  {'server, by the kernel':>21} {'by split':>16} {'network':>16}  throughput predicted for pauses of {', '.join(asked.rtts)}")
    for name in asked.workloads:
        builds = [build for build in [asked.before, asked.longwire] if build]
        splits = [split(build, name, asked) for build in builds]
        for clients in asked.clients:
            near = load(server, asked, name, clients, NEAR)
            print(row(name, clients, near, splits, [load(server, asked, name, clients, Place("pauses", rtt)) for rtt in asked.rtts], asked.rtts), flush=True)


def arguments():
    listed = lambda text: text.split(",")
    parser = argparse.ArgumentParser()
    parser.add_argument("--longwire", required=True)
    parser.add_argument("--before", help="an earlier longwire, in turn with it")
    parser.add_argument("--workloads", type=listed, default=list(WORKLOADS))
    parser.add_argument("--clients", type=lambda text: [int(part) for part in listed(text)], default=[1, 16, 64])
    parser.add_argument("--rtts", type=listed, default=["1ms", "5ms"])
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def target():
    return f"postgres://{os.environ['PGUSER']}@{os.environ['PGHOST']}:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}"


def split(longwire, name, asked):
    """The records of one run, {(type, clients, place): record}."""
    links = [flag for rtt in asked.rtts for flag in ["--link", f"rtt={rtt}"]]
    clients = ",".join(map(str, asked.clients))
    command = [longwire, "split", target(), *NEAR.script(name, WORKLOADS[name]), "-c", clients, "--rounds", str(asked.rounds), "-T", "500ms", *links, "--json"]
    records = map(json.loads, run(command).stdout.splitlines())
    return {(record["type"], record.get("clients"), record.get("place")): record for record in records}


def load(server, asked, name, clients, place):
    """Transactions a second of the same load generator as `split` uses, and the clients that are at the server at any time."""
    # Connections are open before its clock begins.
    command = [asked.longwire, "load", target(), *place.script(name, WORKLOADS[name]), "-c", str(clients), "-T", f"{asked.seconds}s", "--json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=wake_on_time)
    shares = processors.account(server.postmaster, os.path.basename(asked.longwire), clients, asked.seconds, running)
    out, _ = running.communicate()
    summary = next(record for record in map(json.loads, out.splitlines()) if record["type"] == "summary")
    at_server = shares["server"] + shares["server waiting"] if shares else float("nan")
    return {"per_second": summary["per_second"], "at_server": at_server}


def row(name, clients, near, splits, far, rtts):
    shares = [record["split", clients, None] for record in splits]
    part = lambda key: " ".join(f"{record[key] / record['transaction_ns']:>7.1%}" for record in shares)
    last = splits[-1]
    predicted = [last["elsewhere", clients, f"rtt={rtt}"]["per_second"] for rtt in rtts]
    errors = " ".join(f"{before / measured['per_second'] - 1:>+7.1%}" for before, measured in zip(predicted, far))
    return f"{name:<12} {clients:>7} {near['per_second']:>8.0f}  {near['at_server'] / clients:>21.1%} {part('server_ns'):>16} {part('network_ns'):>16}  {errors}"


main()
