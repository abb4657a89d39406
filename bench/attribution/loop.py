"""One event loop (uvicorn), asyncpg: /held keeps a connection for its request, /each takes one for each statement."""

import contextlib
import os

import asyncpg
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

pool = None


@contextlib.asynccontextmanager
async def lifespan(_app):
    global pool
    size = int(os.environ.get("POOL", "8"))
    pool = await asyncpg.create_pool(ssl=False, min_size=size, max_size=size)
    yield
    await pool.close()


def marked(request, sql):
    parent = request.headers.get("traceparent")
    suffix = f" /*traceparent='{parent}'*/" if parent else ""
    return f"/* r={request.query_params['r']} */ {sql}{suffix}"


async def held(request):
    async with pool.acquire() as connection:
        for number in range(5):
            await connection.execute(marked(request, f"select id, name, stars from items where id = {number + 1}"))
    return PlainTextResponse("done")


async def each(request):
    for number in range(5):
        await pool.execute(marked(request, f"select id, name, stars from items where id = {number + 1}"))
    return PlainTextResponse("done")


app = Starlette(routes=[Route("/held", held), Route("/each", each)], lifespan=lifespan)
