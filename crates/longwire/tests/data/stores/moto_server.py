"""moto with connections that stay open, as DynamoDB's do. It prints its address."""

import sys

import waitress
from moto.server import DomainDispatcherApplication, create_backend_app

server = waitress.create_server(DomainDispatcherApplication(create_backend_app), host="127.0.0.1", port=0)
print(f"listening on 127.0.0.1:{server.effective_port}", file=sys.stderr, flush=True)
server.run()
