"""Drives longwire_spark on a cluster of two executor processes, kills the first that works, and prints what came out, one JSON object a line.

driver.py FOLDER LONGWIRE: FOLDER has captures/HOST/*; the program writes the process that started it into FOLDER/worker when it is to be killed.
"""

import json
import os
import signal
import sys
import threading
import time

from pyspark.sql import SparkSession

import longwire_spark

folder, longwire = sys.argv[1:]
spark = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .appName("longwire")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
    .getOrCreate()
)


def kill_one():
    """Ends the executor above the process in FOLDER/worker."""
    said = os.path.join(folder, "worker")
    while not os.path.exists(said) or not open(said).read().endswith("\n"):
        time.sleep(0.05)
    process = int(open(said).read())
    # The executor is the Java process above the one of Python.
    while "java" not in open(f"/proc/{process}/comm").read():
        process = int(open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[1])
    print(json.dumps({"killed": process}), flush=True)
    os.kill(process, signal.SIGKILL)


threading.Thread(target=kill_one, daemon=True).start()
runs = longwire_spark.runs_of(os.path.join(folder, "captures/*/*"))
print(json.dumps({"runs": [[run.host, [os.path.basename(file) for file in run.files]] for run in runs]}), flush=True)
for result in longwire_spark.read(spark, runs, os.path.join(folder, "tables"), longwire):
    print(json.dumps({"result": result._asdict()}), flush=True)
good = [run for run in runs if run.host != "broken"]
for row in longwire_spark.predict(spark, good, ["1ms", "10ms"], longwire).collect():
    print(json.dumps({"predicted": row.asDict()}), flush=True)
spark.stop()
