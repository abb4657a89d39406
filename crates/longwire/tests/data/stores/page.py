"""Pages of a program that calls a store: `NAME.py PORT REQUESTS` answers so many requests, prints what the driver counted, and ends."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


def serve(pages, counts, close=lambda: None):
    answer(lambda path: f"{len(pages[path]())} documents\n")
    close()
    print(json.dumps(counts), flush=True)


def answer(text):
    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            body = text(self.path).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Page)
    for _ in range(int(sys.argv[2])):
        server.handle_request()
