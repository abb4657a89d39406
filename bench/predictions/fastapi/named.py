"""Names each statement's request in a comment at its end."""

import contextvars

from sqlalchemy import event

comment = contextvars.ContextVar("comment", default="")


def requests(app, engine):
    @app.middleware("http")
    async def remember(request, call_next):
        comment.set(f" /*route='{request.url.path.strip('/')}',traceparent='{request.headers.get('traceparent', '')}'*/")
        return await call_next(request)

    @event.listens_for(engine.sync_engine, "before_cursor_execute", retval=True)
    def add(_connection, _cursor, statement, parameters, _context, _executemany):
        return statement + comment.get(), parameters
