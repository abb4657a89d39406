"""Names each statement's request in a comment at its end."""

import re

from django.db import connection


def safe(text):
    """Without what could end the comment or the text: a client sent it."""
    return re.sub(r"[^\w./-]", "", text, flags=re.ASCII)


def middleware(get_response):
    def named(request):
        comment = f" /*route='{safe(request.path.strip('/'))}',traceparent='{safe(request.headers.get('traceparent', ''))}'*/"
        with connection.execute_wrapper(lambda execute, sql, *rest: execute(sql + comment, *rest)):
            return get_response(request)
    return named
