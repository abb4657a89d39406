"""Predictions of pages of five stacks beside what they took behind an emulated link. See bench/predictions.sh."""

import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import stacks

HERE = Path(__file__).resolve().parent
PAGES = ["one", "eight", "parallel", "transaction"]
POSTGRES_PORT = 20985
# After which tcpdump has been handed what the kernel still kept for it.
CAPTURE_SECONDS = 1.6


def main():
    settings = arguments()
    settings.keep.mkdir(parents=True, exist_ok=True)
    for stack in settings.stacks:
        stacks.prepare(stack.removesuffix("+tls"), settings.keep)
    output = settings.keep / "runs"
    if settings.fresh:
        shutil.rmtree(output, ignore_errors=True)
    output.mkdir(exist_ok=True)
    if not settings.again:
        with postgres(settings.keep / "postgres"):
            for number in range(settings.rounds):
                for stack in settings.stacks:
                    visit(settings, output, number, stack)
    report(settings, output)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longwire", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True, help="where programs are built and captures kept")
    parser.add_argument("--stacks", nargs="+", default=["flask", "starlette", "express", "java", "go", "go+tls", "starlette+tls"])
    parser.add_argument("--pages", nargs="+", default=PAGES)
    parser.add_argument("--rtts", nargs="+", default=["5ms", "20ms"])
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--behind", choices=["link", "watch"], default="link",
                        help="what emulates the distance: packets between two namespaces, or a relay, as a user would try it")
    parser.add_argument("--operations", type=int, default=60, help="of each client")
    parser.add_argument("--seconds", type=float, default=1e9, help="begins no further visit after so long; run it again for the rest")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="measure everything anew; else what is there is kept and the rest added")
    parser.add_argument("--again", action="store_true", help="predict again from the captures that are there")
    parser.add_argument("--explain", nargs="*", default=[], help="further arguments of predict")
    settings = parser.parse_args()
    settings.end = time.monotonic() + settings.seconds
    settings.keep, settings.longwire = settings.keep.resolve(), settings.longwire.resolve()
    return settings


@contextlib.contextmanager
def postgres(directory):
    """A private PostgreSQL with the pages' tables; ends with the block."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    as_owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    if as_owner:
        shutil.chown(directory, "postgres")
    quietly(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=pages",
             "-keyout", directory / "key.pem", "-out", directory / "certificate.pem"])
    for name in ["key.pem", "certificate.pem"]:
        (directory / name).chmod(0o600)
        if as_owner:
            shutil.chown(directory / name, "postgres")
    data = directory / "data"
    quietly([*as_owner, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"])
    options = {"port": POSTGRES_PORT, "unix_socket_directories": directory, "fsync": "off", "ssl": "on",
               "ssl_cert_file": directory / "certificate.pem", "ssl_key_file": directory / "key.pem", "max_connections": 100}
    words = [word for name, value in options.items() for word in ["-c", f"{name}={value}"]]
    with open(directory / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen([str(word) for word in [*as_owner, programs / "postgres", "-D", data, *words]],
                                  stdout=log, stderr=log, start_new_session=True)
        try:
            psql = ["psql", "-q", "-h", "127.0.0.1", "-p", POSTGRES_PORT, "-U", "postgres", "-v", "ON_ERROR_STOP=1"]
            for _ in range(200):
                if subprocess.run([str(word) for word in [*psql, "-c", "select 1"]], capture_output=True, check=False).returncode == 0:
                    break
                time.sleep(0.1)
            quietly([*psql, "-f", HERE / "schema.sql"])
            yield
        finally:
            os.killpg(server.pid, signal.SIGINT)
            server.wait()


def visit(settings, output, number, stack):
    """One stack once: captured beside its database, then timed behind each link; in the next round the other way round."""
    for clients in settings.clients:
        places = ["0ms", *settings.rtts]
        for rtt in places if number % 2 == 0 else reversed(places):
            name = output / f"{stack}-{clients}-{rtt}-{number}"
            if Path(f"{name}.json").exists() or time.monotonic() > settings.end:
                continue
            words = [sys.executable, "-B", HERE / "drive.py", stack.removesuffix("+tls"), settings.keep, f"{name}.json", clients,
                     settings.operations, *settings.pages]
            environment = os.environ | {"PGHOST": "127.0.0.1", "PGPORT": str(POSTGRES_PORT), "PGUSER": "postgres",
                                        "PGDATABASE": "postgres", "PGSSLMODE": "require" if stack.endswith("+tls") else "disable"}
            if rtt == "0ms":
                captured(f"{name}.pcap", words, environment)
            else:
                said = quietly([*behind(settings, rtt, name), "--", *words], environment)
                Path(f"{name}.txt").write_text(said, encoding="utf-8")


def behind(settings, rtt, name):
    if settings.behind == "link":
        return [settings.longwire, "link", f"rtt={rtt}", "--json", f"{name}.link", "--forward", POSTGRES_PORT]
    target = f"postgres://postgres@127.0.0.1:{POSTGRES_PORT}/postgres?sslmode=disable"
    return [settings.longwire, "watch", target, "--quiet", "--link", f"rtt={rtt}", "--output", f"{name}.lwr"]


def captured(file, words, environment):
    """Runs `words` while the traffic of pages and database is captured."""
    with sniffing(file):
        quietly(words, environment)


@contextlib.contextmanager
def sniffing(file):
    """Captures the traffic of pages and database during the block."""
    sniffer = subprocess.Popen(["tcpdump", "-i", "lo", "-B", "65536", "-U", "-Z", "root", "-w", file, "tcp", "port", str(stacks.HTTP_PORT), "or", "tcp",
                                "port", str(POSTGRES_PORT)], stderr=subprocess.PIPE, text=True)
    sniffer.stderr.readline()
    try:
        yield
        time.sleep(CAPTURE_SECONDS)
    finally:
        sniffer.send_signal(signal.SIGINT)
        complaints = sniffer.communicate()[1]
    if "\n0 packets dropped by kernel" not in complaints:
        print(f"{file}: {complaints}", file=sys.stderr)


def quietly(words, environment=None):
    done = subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def report(settings, output):
    print(f"{'stack':<14} {'page':<12} {'clients':>7} {'rtt':>5} {'at 0':>8} {'measured':>9} {'predicted':>9} {'error':>7}   low .. high"
          f"{'':<9} within {'width':>6} {'a turn':>7}")
    rows = []
    for stack in settings.stacks:
        for clients in settings.clients:
            for number in range(settings.rounds):
                places = ["0ms", *settings.rtts]
                if all((output / f"{stack}-{clients}-{rtt}-{number}.json").exists() for rtt in places):
                    rows += compare(settings, output, stack, clients, number)
    summarise("all", rows)
    for key in ["stack", "page", "clients", "rtt"]:
        for value in dict.fromkeys(row[key] for row in rows):
            summarise(f"{key} {value}", [row for row in rows if row[key] == value])


def compare(settings, output, stack, clients, number):
    base = output / f"{stack}-{clients}-0ms-{number}"
    near = json.loads(Path(f"{base}.json").read_text(encoding="utf-8"))
    said = subprocess.run([settings.longwire, "predict", f"{base}.pcap", "--rtt", ",".join(settings.rtts), "--clients", str(clients), "--json",
                           *settings.explain], capture_output=True, text=True, check=True).stdout
    records = [json.loads(line) for line in said.splitlines()]
    rows = []
    for rtt in settings.rtts:
        far = json.loads((output / f"{stack}-{clients}-{rtt}-{number}.json").read_text(encoding="utf-8"))
        for page in settings.pages:
            found = [record for record in records if record["type"] == "prediction" and record["operation_name"] == f"GET /{page}"
                     and record["rtt_ns"] == int(rtt.removesuffix("ms")) * 1_000_000]
            if not found:
                print(f"{stack:<14} {page:<12} {clients:>7} {rtt:>5} not predicted")
                continue
            rows.append(row(stack, page, clients, rtt, near[page], far[page], found[0]))
    return rows


def row(stack, page, clients, rtt, near, far, found):
    measured, predicted = statistics.median(far), found["duration_ns"]
    low, high = found["low_ns"], found["high_ns"]
    error, width = predicted / measured - 1, (high - low) / predicted
    within = low <= measured <= high
    turns = max(found["turns"], 1)
    print(f"{stack:<14} {page:<12} {clients:>7} {rtt:>5} {statistics.median(near) / 1e6:>8.2f} {measured / 1e6:>9.2f} {predicted / 1e6:>9.2f} "
          f"{error:>+7.1%}   {low / 1e6:>7.2f} .. {high / 1e6:<8.2f} {'yes' if within else 'NO':<6} {width:>6.1%} "
          f"{(measured - predicted) / turns / 1e6:>+7.3f}")
    return {"stack": stack, "page": page, "clients": clients, "rtt": rtt, "error": error, "within": within, "width": width}


def summarise(what, rows):
    errors = sorted((abs(row["error"]) for row in rows))
    if errors:
        inside = sum(row["within"] for row in rows)
        print(f"{what:<22} {len(rows):>3} cells: median error {statistics.median(errors):.1%}, worst {errors[-1]:.1%}, "
              f"90 % within {errors[int(0.9 * (len(errors) - 1))]:.1%}, bounds held {inside} ({inside / len(rows):.0%}), "
              f"median width {statistics.median(row['width'] for row in rows):.0%}")


if __name__ == "__main__":
    main()
