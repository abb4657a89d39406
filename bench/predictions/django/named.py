"""Names each statement's request in a comment at its end."""

from django.db import connection


def middleware(get_response):
    def named(request):
        comment = f" /*route='{request.path.strip('/')}',traceparent='{request.headers.get('traceparent', '')}'*/"
        with connection.execute_wrapper(lambda execute, sql, *rest: execute(sql + comment, *rest)):
            return get_response(request)
    return named
