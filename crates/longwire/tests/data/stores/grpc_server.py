"""A gRPC server of documents: Get has one, List ten. It prints its address."""

import sys
from concurrent import futures

import grpc


class Handler(grpc.GenericRpcHandler):
    def service(self, details):
        times = 10 if details.method.endswith("/List") else 1
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"osprey;" * times)


server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((Handler(),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
print(f"listening on 127.0.0.1:{port}", file=sys.stderr, flush=True)
server.wait_for_termination()
