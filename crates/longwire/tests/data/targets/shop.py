"""A web application: `shop.py PORT REQUESTS` answers so many requests, one at a time, and ends.

A page asks the cache twice and the database four times, over connections that stay open, as the variables of its environment say.
"""

import os
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import psycopg
import redis

database = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=None)
cache = redis.Redis.from_url(os.environ["REDIS_URL"])
cache.ping()


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        cache.get(self.path)
        products = database.execute("select i from generate_series(1, 3) i").fetchall()
        for product in products:
            database.execute("select 'product ' || %s", product).fetchall()
        cache.set(self.path, len(products))
        body = f"{len(products)} products\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Page)
for _ in range(int(sys.argv[2])):
    server.handle_request()
