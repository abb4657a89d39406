"""drive.py STACK KEPT OUTPUT CLIENTS OPERATIONS PAGE...: starts the program and asks for its pages; times to OUTPUT as JSON.

Runs where the program runs: beside its database, or behind a link (`longwire link ... -- drive.py ...`). Warm-up requests are POST, so
that their operations have names of their own. Times are from the request's first byte (with a connection each: from connecting) to the
reply's last having reached the client's system: what the client does then, and how long it takes to wake up, is no part of the page.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import stacks

WARM_UP_SECONDS = 1.2
CELL_SECONDS = 2.0


def main():
    stack, kept, output, clients, operations = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:6]
    pages = sys.argv[6:]
    environment = os.environ | {"PORT": str(stacks.HTTP_PORT)}
    words = [str(word) for word in stacks.command(stack, kept)]
    with open(f"{output}.log", "w", encoding="utf-8") as log, socket.socket() as stamped:
        # Linux stamps arriving packets only while some socket wants it, and begins a moment after the first one says so.
        stamped.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        program = subprocess.Popen(words, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            wait_until_it_serves(program, pages[0])
            times = {}
            for page in pages:
                ask(page, "POST", 8, 10**6, float(os.environ.get("WARM_UP", WARM_UP_SECONDS)))
            for page in pages:
                times[page] = ask(page, "GET", int(clients), int(operations), CELL_SECONDS)
        finally:
            os.killpg(program.pid, signal.SIGTERM)
            program.wait()
    Path(output).write_text(json.dumps(times), encoding="utf-8")


def wait_until_it_serves(program, page):
    for _ in range(600):
        if program.poll() is not None:
            sys.exit(f"the program ended with {program.returncode}")
        try:
            Client("POST").get(page)
            return
        except OSError:
            time.sleep(0.05)
    sys.exit("the program does not serve")


def ask(page, method, count, operations, seconds):
    """Nanoseconds of every operation of `count` clients in a closed loop, `operations` each, or until `seconds` are over."""
    times, errors, end = [], [], time.monotonic() + seconds

    def loop():
        client = Client(method)
        try:
            for number in range(operations):
                if time.monotonic() > end and number >= LEAST_OPERATIONS:
                    break
                times.append(client.get(page))
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=loop) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        sys.exit(f"{method} /{page}: {errors[0]}")
    return times


class Client:
    """One HTTP client that keeps its connection as long as the server does."""

    def __init__(self, method):
        self.method, self.socket = method, None

    def get(self, page):
        request = f"{self.method} /{page} HTTP/1.1\r\nHost: pages\r\nContent-Length: 0\r\n\r\n".encode()
        begin = time.time_ns()
        if self.socket is None:
            self.socket = socket.create_connection(("127.0.0.1", stacks.HTTP_PORT))
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.sendall(request)
        reply = b""
        while not complete(reply):
            more, notes, _, _ = self.socket.recvmsg(65536, 256)
            if not more:
                raise OSError(f"the reply ended early: {reply[:200]}")
            reply += more
        took = arrived(notes) - begin
        if b" 200 " not in reply[:20]:
            raise OSError(f"{reply[:300]}")
        if b"connection: close" in reply.lower():
            self.socket.close()
            self.socket = None
        return took


def arrived(notes):
    """When the kernel received what was read last: nanoseconds of the system's clock."""
    for _, kind, data in notes:
        if kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return seconds * 10**9 + nanoseconds
    raise OSError("the kernel does not say when it received the reply")


def complete(reply):
    head, separator, body = reply.partition(b"\r\n\r\n")
    if not separator:
        return False
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
    return body.endswith(b"0\r\n\r\n")


LEAST_OPERATIONS = 15

# Of <asm-generic/socket.h>.
SO_TIMESTAMPNS = 35

if __name__ == "__main__":
    main()
