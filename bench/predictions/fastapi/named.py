"""Names each statement's request in a comment at its end."""

import contextvars
import re

from sqlalchemy import event

comment = contextvars.ContextVar("comment", default="")


def safe(text):
    """Without what could end the comment or the text: a client sent it."""
    return re.sub(r"[^\w./-]", "", text, flags=re.ASCII)


def requests(app, engine):
    @app.middleware("http")
    async def remember(request, call_next):
        comment.set(f" /*route='{safe(request.url.path.strip('/'))}',traceparent='{safe(request.headers.get('traceparent', ''))}'*/")
        return await call_next(request)

    @event.listens_for(engine.sync_engine, "before_cursor_execute", retval=True)
    def add(_connection, _cursor, statement, parameters, _context, _executemany):
        return statement + comment.get(), parameters
