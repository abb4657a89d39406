"""A web server over TLS: https.py CERTIFICATE KEY. Answers every request with as many bytes as its path says."""

import http.server
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b"page " * int(self.path.strip("/"))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
context.set_ciphers("DEFAULT")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(f"listening on 127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
server.serve_forever()
