"""pgbench's workloads: run near the server, behind an emulated link, or with pauses; captured; predicted. See bench/saturation.sh."""

import glob
import json
import math
import os
import re
import signal
import statistics
import subprocess
import time

import processors

SERVER, OTHERS = 1, 0
SCALE = 10
# Seconds that a connection takes without distance.
CONNECT = 0.005
BUILTIN = ["select-only", "tpcb-like", "simple-update"]
AGGREGATE = "select count(*) from pgbench_accounts where aid <= 4000;\n"
NAMES = ["select-only", "tpcb-like", "aggregate", "simple-update"]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done


class Server:
    """The server, on a processor of its own; this program and all that it starts on the other one. Or `shared`: all on both."""

    def __init__(self, shared=False):
        run(["pgbench", "-i", "-q", "-s", str(SCALE)])
        run(["psql", "-qc", "checkpoint"])
        folder = run(["psql", "-qAtc", "show data_directory"]).stdout.strip()
        with open(folder + "/postmaster.pid") as file:
            self.postmaster = int(file.readline())
        for process in [self.postmaster, *processors.children(self.postmaster)]:
            if not shared:
                os.sched_setaffinity(process, {SERVER})
            os.setpriority(os.PRIO_PROCESS, process, -20)
        # It looks at the processes while pgbench keeps that processor busy.
        if not shared:
            os.sched_setaffinity(0, {OTHERS})
        os.setpriority(os.PRIO_PROCESS, 0, -20)


class Place:
    """Where clients are: near the server, behind an emulated link, or near it with a pause before each statement.

    A pause is a distance that costs no processor time: pgbench sleeps for the round trip instead of waiting for packets on their way.
    """

    def __init__(self, kind, rtt=None):
        self.kind, self.rtt = kind, rtt

    def command(self, longwire, pgbench):
        if self.kind != "link":
            return pgbench
        return [longwire, "link", f"rtt={self.rtt}", "--forward", os.environ["PGPORT"], "--", *pgbench]

    def milliseconds(self):
        return float(self.rtt.removesuffix("ms")) if self.rtt else 0

    def script(self, name, text=None):
        """The workload as pgbench takes it, and the flags that it needs; the file is made in this folder."""
        text = text or built_in(name)
        if self.kind == "pauses":
            is_statement = lambda line: line.strip() and not line.startswith(("\\", "--"))
            pause = f"\\sleep {self.milliseconds() * 1e3:.0f} us\n"
            text = "".join(pause * bool(is_statement(line)) + line for line in text.splitlines(keepends=True))
        file = f"{name}-{self.kind}.sql"
        with open(file, "w") as script:
            script.write(text)
        return ["-f", file, "-s", str(SCALE)]


NEAR = Place("near")


def built_in(name):
    return subprocess.run(["pgbench", f"--show-script={name}"], capture_output=True, text=True).stderr if name in BUILTIN else AGGREGATE


def load(server, longwire, name, clients, place, seconds, text=None):
    """One run of pgbench: mean and median of a transaction (ms), what each group used of a processor for each (us), how late the link was (us)."""
    # The clock of pgbench runs while it opens its connections, one after the other.
    clock = math.ceil(seconds + clients * (0.004 * place.milliseconds() * (place.kind == "link") + CONNECT))
    command = ["pgbench", "-n", "-c", str(clients), "-l", "--sampling-rate=0.2", "-T", str(clock), *place.script(name, text)]
    command = place.command(longwire, command)
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=wake_on_time)
    shares = processors.account(server.postmaster, os.path.basename(longwire), clients, seconds, running)
    out, err = running.communicate()
    if running.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {running.returncode}: {err}")
    time.sleep(0.2)
    mean = float(re.search(r"latency average = ([\d.]+) ms", out)[1])
    late = re.search(r"rtt \+([\d.]+) (ns|us|ms)", err)
    late = float(late[1]) * {"ns": 1e-3, "us": 1, "ms": 1e3}[late[2]] if late else 0
    return {"mean": mean, "median": logged_median(), "shares": shares or {}, "late": late, "per_second": clients / mean * 1e3}


def wake_on_time():
    """By default the kernel lets a sleep last 50 us longer."""
    with open("/proc/self/timerslack_ns", "w") as file:
        file.write("1")


def logged_median():
    """The median of the transactions in pgbench's log, which is removed; ms."""
    times = []
    for name in glob.glob("pgbench_log.*"):
        with open(name) as log:
            times += [int(line.split()[2]) for line in log]
        os.remove(name)
    return statistics.median(times) / 1e3


def captured(server, longwire, name, seconds, file):
    """One client near the server, captured; as `load`."""
    filter = f"tcp port {os.environ['PGPORT']}"
    command = ["tcpdump", "-i", "lo", "-n", "-B", "262144", "-s", "0", "-Z", "root", "-w", file, filter]
    dump = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while "listening on" not in dump.stderr.readline():
        pass
    near = load(server, longwire, name, 1, NEAR, seconds)
    time.sleep(1)
    dump.send_signal(signal.SIGINT)
    dump.wait()
    return near


def prediction(longwire, capture, clients, rtt, more=()):
    """The prediction for the operation that was there most often."""
    flags = ["--operations", "transaction", "--clients", str(clients), "--rtt", rtt, "--server-cores", "1", "--client-cores", "1", *more]
    lines = run([longwire, "predict", *flags, "--json", capture]).stdout.splitlines()
    found = [record for record in map(json.loads, lines) if record["type"] == "prediction"]
    return max(found, key=lambda record: record["operations"])
