"""Captures of many hosts through longwire: one Spark task for each run of a host.

A run is the consecutive files of one host: connections go on from file to file, so a run is never divided. What is distributed is runs, by Spark; all else is
`longwire read` and `longwire predict` as on one machine.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

from pyspark import SparkFiles
from pyspark.sql import SparkSession

Run = namedtuple("Run", "host files")
Run.__doc__ = "The consecutive files of a host, in their order. A host may have several, with gaps between them."

RunResult = namedtuple("RunResult", "host files bytes seconds status said connections exchanges turns")
RunResult.__doc__ = """What became of a run: `status` is the exit status of longwire (0: done; 127: there is no such program on the executor), `said` what it wrote to
stderr. `connections`, `exchanges` and `turns` are its totals, None where it failed."""


def runs_of(pattern):
    """The runs of the files of this pattern: those of one folder are one run, of the host that the folder is named after, in the order of their names.

    Numbers in names count as numbers (tcpdump's -C and -G). A ring of files (-W) overwrites its first: name the files of a run yourself then.
    """
    runs = {}
    for file in glob.glob(pattern):
        folder = os.path.dirname(os.path.abspath(file))
        runs.setdefault(folder, []).append(os.path.abspath(file))
    return [Run(os.path.basename(folder), sorted(files, key=_natural)) for folder, files in sorted(runs.items())]


def read(spark, runs, output, longwire="longwire", options=()):
    """Writes the tables of all runs to `output`, a folder that all executors share or s3://BUCKET/PREFIX; a list of a RunResult for each.

    A run has its name by its host and its files: a task that Spark does again replaces what it wrote before, and rows are there once. `options` are those of
    `longwire read`. A run that fails does not stop the others.
    """
    # Tables hold no predictions.
    options = ["--rtt", "none", *options]

    def work(run):
        return _done(longwire, ["read", "--json", "--parquet", output, "--parquet-host", run.host, *options], run)[0]

    return _distributed(spark, runs).map(work).collect()


def predict(spark, runs, rtts, longwire="longwire", options=()):
    """What operations would take at other round trip times (such as "10ms"): a DataFrame with a row for each operation of a run and round trip.

    It ends with an error that names the host when a run fails.
    """
    options = ["--rtt", ",".join(rtts), *options]

    def work(run):
        result, records = _done(longwire, ["predict", "--json", *options], run)
        if result.status != 0:
            raise RuntimeError(f"{run.host}: longwire ended with status {result.status}: {result.said}")
        found = (record for record in records if record["type"] == "prediction")
        return [(run.host, *(record.get(key) for key in _PREDICTED)) for record in found]

    schema = "host string, operation_name string, operations long, rtt_ns long, duration_ns long, turns double"
    rows = _distributed(spark, runs).flatMap(work)
    return spark.createDataFrame(rows.map(lambda row: (*row[:-1], float(row[-1]))), schema)


_PREDICTED = ("operation_name", "operations", "rtt_ns", "duration_ns", "turns")


def _distributed(spark, runs):
    """A task for each run. The largest come first: the last task to end should be a small one."""
    runs = sorted(runs, key=lambda run: -_bytes(run))
    if not runs:
        raise ValueError("no run: no file has a name of the pattern")
    context = spark.sparkContext
    if __name__ != "__main__":
        context.addPyFile(os.path.abspath(__file__))
    return context.parallelize(runs, len(runs))


def _done(longwire, arguments, run):
    """Runs longwire on the files of a run: the result, and the records that are not of exchanges or statements."""
    begin = time.monotonic()
    # stderr is a file: a pipe that nobody reads meanwhile would stop the program.
    with tempfile.TemporaryFile("w+", errors="replace") as stderr:
        try:
            command = [_program(longwire), *arguments, *run.files]
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        except OSError as error:
            said = f"{error}: give its path, or send it with --files {longwire}"
            return RunResult(run.host, len(run.files), _bytes(run), 0.0, 127, said, None, None, None), []
        with child:
            records = [json.loads(line) for line in child.stdout if line.startswith(_KEPT)]
        stderr.seek(0)
        said = stderr.read()
    summary = next((record for record in records if record["type"] == "summary"), {})
    totals = [summary.get(key) if child.returncode == 0 else None for key in ("connections", "exchanges", "turns")]
    seconds = time.monotonic() - begin
    return RunResult(run.host, len(run.files), _bytes(run), seconds, child.returncode, said[-2000:], *totals), records


_KEPT = ('{"type":"prediction"', '{"type":"summary"')


def _program(longwire):
    """The program: one that was sent with `--files` comes before one of the executor's PATH."""
    sent = SparkFiles.get(os.path.basename(longwire))
    if os.sep not in longwire and os.path.exists(sent):
        os.chmod(sent, 0o755)
        return sent
    return longwire


def _bytes(run):
    return sum(os.path.getsize(file) for file in run.files if os.path.exists(file))


def _natural(name):
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def main():
    parser = argparse.ArgumentParser(description="captures of many hosts through longwire, with Spark")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("read", "write tables"), ("predict", "predict operations")):
        command = commands.add_parser(name, help=text)
        command.add_argument("captures", help="pattern of files: the folder of each is named after its host ('captures/*/*.pcap')")
        command.add_argument("--longwire", default="longwire", help="the program, on executors")
        if name == "read":
            command.add_argument("--output", required=True, help="folder that executors share, or s3://BUCKET/PREFIX")
        else:
            command.add_argument("--rtt", required=True, help="round trip times, such as 1ms,10ms")
    arguments, options = parser.parse_known_args()
    spark = SparkSession.builder.appName("longwire").getOrCreate()
    runs = runs_of(arguments.captures)
    if not runs:
        parser.error(f"no file has a name like {arguments.captures}")
    if arguments.command == "predict":
        for row in predict(spark, runs, arguments.rtt.split(","), arguments.longwire, options).toLocalIterator():
            print(json.dumps(row.asDict()))
        return 0
    results = read(spark, runs, arguments.output, arguments.longwire, options)
    for result in results:
        print(json.dumps(result._asdict()))
    failed = [result for result in results if result.status != 0]
    for result in failed:
        print(f"{result.host}: longwire ended with status {result.status}: {result.said.strip()}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
