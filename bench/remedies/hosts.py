"""Three hosts on one machine: a client, a web server with two addresses and a database server, and the distance between the last two."""

import os
import re
import signal
import statistics
import subprocess
import time

PREFIX = os.environ.get("BENCH_HOSTS", "rem")
CLIENT, WEB, DATABASE = (f"{PREFIX}-{name}" for name in ("cli", "web", "db"))


def run(*command, **more):
    return subprocess.run(command, check=True, **more)


def inside(host, *command):
    """The command as it is run on a host."""
    return ["ip", "netns", "exec", host, *command]


class Hosts:
    """The three hosts. `emulator` is bench/products/reflink.c, compiled: packets pass between two tun devices after a time."""

    def __init__(self, emulator):
        self.emulator = emulator
        self.link = None
        for host in (CLIENT, WEB, DATABASE):
            subprocess.run(["ip", "netns", "del", host], stderr=subprocess.DEVNULL, check=False)
            run("ip", "netns", "add", host)
            run("ip", "-n", host, "link", "set", "lo", "up")
        run("ip", "link", "add", "t0", "netns", CLIENT, "type", "veth", "peer", "name", "t0", "netns", WEB)
        for host, address in ((CLIENT, "10.88.1.1/24"), (WEB, "10.88.1.2/24")):
            run("ip", "-n", host, "addr", "add", address, "dev", "t0")
            run("ip", "-n", host, "link", "set", "t0", "up")
        self.near()

    def near(self):
        """The database server beside the web server."""
        self._cut()
        run("ip", "link", "add", "t1", "netns", WEB, "type", "veth", "peer", "name", "t1", "netns", DATABASE)
        self._join()

    def far(self, rtt_ms):
        """The database server so far away; the round trip that ping measures, in ms."""
        self._cut()
        one_way = str(int(rtt_ms * 500))
        self.link = subprocess.Popen(["chrt", "-f", "50", self.emulator, WEB, "t1", DATABASE, "t1", one_way, "0", "0"], stdout=subprocess.DEVNULL)
        time.sleep(0.3)
        self._join()
        ping = run(*inside(WEB, "ping", "-c", "21", "-i", "0.05", "10.88.2.2"), capture_output=True, text=True).stdout
        return statistics.median(float(one) for one in re.findall(r"time=([\d.]+)", ping))

    def gone(self):
        self._cut()
        for host in (CLIENT, WEB, DATABASE):
            subprocess.run(["ip", "netns", "del", host], check=False)

    def _cut(self):
        if self.link:
            self.link.send_signal(signal.SIGTERM)
            self.link.wait()
            self.link = None
        subprocess.run(["ip", "-n", WEB, "link", "del", "t1"], stderr=subprocess.DEVNULL, check=False)
        time.sleep(0.2)

    def _join(self):
        for host, address in ((WEB, "10.88.2.1/24"), (DATABASE, "10.88.2.2/24")):
            run("ip", "-n", host, "addr", "replace", address, "dev", "t1")
            run("ip", "-n", host, "link", "set", "t1", "up", "mtu", "1500")
        time.sleep(0.3)
