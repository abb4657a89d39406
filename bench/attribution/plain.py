"""A thread for each connection (http.server), psycopg2, a pool of POOL connections. Head and body of a response are written apart: its last byte
comes after a delayed acknowledgement, 40 ms after the first. /held keeps a connection for its request, /each takes one for each statement."""

import os
import queue
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import psycopg2

pool = queue.LifoQueue()


def connect():
    connection = psycopg2.connect("")
    connection.autocommit = True
    return connection


def ask(connection, number, row):
    with connection.cursor() as cursor:
        cursor.execute(f"/* r={number} */ select id, name, stars from items where id = {row + 1}")
        cursor.fetchone()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urlsplit(self.path)
        number = parse_qs(url.query)["r"][0]
        held = pool.get() if url.path == "/held" else None
        for row in range(5):
            connection = held or pool.get()
            try:
                ask(connection, number, row)
            finally:
                if not held:
                    pool.put(connection)
        if held:
            pool.put(held)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"done")

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


for _ in range(int(os.environ.get("POOL", "8"))):
    pool.put(connect())
Server(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
