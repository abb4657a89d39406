"""Many clients before a server with one processor: predicted from a capture of one client, and measured. See bench/saturation.sh."""

import argparse
import glob
import json
import os
import re
import signal
import statistics
import subprocess
import tempfile
import time

SERVER, OTHERS = "1", "0"
TICKS = os.sysconf("SC_CLK_TCK")
SCRIPTS = {
    "select-only": ["-b", "select-only"],
    "tpcb-like": ["-b", "tpcb-like"],
    "aggregate": ["-f", "aggregate.sql"],
    "simple-update": ["-b", "simple-update"],
    "select-prepared": ["-b", "select-only", "-M", "prepared"],
}
AGGREGATE = "select count(*) from pgbench_accounts where aid <= 4000;\n"


def main():
    asked = arguments()
    run(["pgbench", "-i", "-q", "-s", "10"])
    run(["psql", "-qc", "checkpoint"])
    pin_server()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        with open("aggregate.sql", "w") as script:
            script.write(AGGREGATE)
        for workload in asked.workloads:
            measure(asked, workload)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--longwire", required=True)
    parser.add_argument("--workloads", type=listed, default=list(SCRIPTS))
    parser.add_argument("--clients", type=lambda text: [int(part) for part in listed(text)], default=[1, 16, 64])
    parser.add_argument("--rtts", type=listed, default=["1ms", "5ms", "20ms"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    return parser.parse_args()


def listed(text):
    return text.split(",")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done


def postmaster():
    folder = run(["psql", "-qAtc", "show data_directory"]).stdout.strip()
    with open(folder + "/postmaster.pid") as file:
        return int(file.readline())


def server_processes():
    """The server's processes, with the fields of /proc/PID/stat behind the name."""
    first, found = postmaster(), {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(name) == first or int(fields[1]) == first:
            found[int(name)] = fields
    return first, found


def pin_server():
    for process in server_processes()[1]:
        os.sched_setaffinity(process, {int(SERVER)})
        os.setpriority(os.PRIO_PROCESS, process, -20)


def server_time():
    """Processor time of the server so far, sessions that have ended included; seconds."""
    first, found = server_processes()
    own = sum(int(fields[11]) + int(fields[12]) for fields in found.values())
    return (own + int(found[first][13]) + int(found[first][14])) / TICKS


def load(asked, workload, clients, rtt=None):
    """One run of pgbench: mean and median of a transaction (ms), the server's processor time for each (us), how late the link was (us)."""
    command = ["pgbench", "-n", "-c", str(clients), "-l", "--sampling-rate=0.2", *SCRIPTS[workload]]
    # pgbench opens its connections one after the other, with some four round trips each, before it begins to count.
    seconds = asked.seconds + (0.004 * float(rtt.removesuffix("ms")) * clients if rtt else 0)
    command += ["-T", str(max(1, round(seconds)))]
    if rtt:
        port = os.environ["PGPORT"]
        command = [asked.longwire, "link", f"rtt={rtt}", "--forward", port, "--", *command]
    before = server_time()
    done = run(["taskset", "-c", OTHERS, "nice", "-n", "-20", *command])
    time.sleep(0.2)
    taken = server_time() - before
    transactions = int(re.search(r"actually processed: (\d+)", done.stdout)[1])
    mean = float(re.search(r"latency average = ([\d.]+) ms", done.stdout)[1])
    late = re.search(r"rtt \+([\d.]+) (ns|us|ms)", done.stderr)
    late = float(late[1]) * {"ns": 1e-3, "us": 1, "ms": 1e3}[late[2]] if late else 0
    return mean, logged_median(), taken / transactions * 1e6, late


def logged_median():
    """The median of the transactions in pgbench's log, which is removed; ms."""
    times = []
    for name in glob.glob("pgbench_log.*"):
        with open(name) as log:
            times += [int(line.split()[2]) for line in log]
        os.remove(name)
    return statistics.median(times) / 1e3


def captured(asked, workload):
    """A capture of one client at no distance, and its mean."""
    capture = f"{workload}.pcap"
    filter = f"tcp port {os.environ['PGPORT']}"
    command = ["tcpdump", "-i", "lo", "-n", "-B", "262144", "-s", "0", "-Z", "root", "-w", capture, filter]
    dump = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while "listening on" not in dump.stderr.readline():
        pass
    mean, _, server, _ = load(asked, workload, 1)
    time.sleep(1)
    dump.send_signal(signal.SIGINT)
    dump.wait()
    return capture, mean, server


def prediction(asked, capture, clients, rtt):
    """The prediction for the operation that was there most often."""
    flags = ["--operations", "transaction", "--clients", str(clients), "--rtt", rtt, "--server-cores", "1", "--client-cores", "1"]
    lines = run([asked.longwire, "predict", *flags, "--json", capture]).stdout.splitlines()
    found = [record for record in map(json.loads, lines) if record["type"] == "prediction"]
    return max(found, key=lambda record: record["operations"])


def measure(asked, workload):
    cells = [(clients, rtt) for rtt in asked.rtts for clients in asked.clients]
    seen = {cell: [] for cell in cells}
    near = []
    for number in range(asked.rounds):
        for cell in cells if number % 2 == 0 else reversed(cells):
            # A capture for each cell: the machine's speed drifts by a half within minutes.
            capture, mean, server = captured(asked, workload)
            near.append((mean, server))
            seen[cell].append((*load(asked, workload, *cell), prediction(asked, capture, *cell)))
    show(workload, near, seen)


def show(workload, near, seen):
    means, servers = zip(*near)
    print(f"{workload}: near it {statistics.median(means):.3f} ms a transaction ({min(means):.3f} to {max(means):.3f}), server's processor {statistics.median(servers):.0f} us")
    print(f"{'clients':>8} {'rtt':>5} {'measured':>9} {'predicted':>9} {'error':>7}  {'smallest, largest':<18} {'within':>6} {'a second':>9} {'server us':>9} {'link late':>9}")
    for (clients, rtt), runs in seen.items():
        measured = statistics.median(run[0] for run in runs)
        predicted = statistics.median(run[4]["mean_ns"] for run in runs) / 1e6
        errors = [run[4]["mean_ns"] / 1e6 / run[0] - 1 for run in runs]
        # The bounds are about the median.
        within = sum(run[4]["low_ns"] <= run[1] * 1e6 <= run[4]["high_ns"] for run in runs)
        server = statistics.median(run[2] for run in runs)
        late = statistics.median(run[3] for run in runs)
        print(
            f"{clients:>8} {rtt:>5} {measured:>9.2f} {predicted:>9.2f} {predicted / measured - 1:>+7.1%}  {min(errors):>+7.1%}, {max(errors):>+7.1%}   "
            f"{within} of {len(runs)} {clients / measured * 1e3:>9.0f} {server:>9.0f} {late:>6.0f} us",
            flush=True,
        )
    print()


main()
