"""One event loop (uvicorn), asyncpg: /held keeps a connection for its request, /each takes one for each statement. The others are pages of different
statements: /item and /list take a connection for each, /buy keeps one for its transaction, /both asks twice at once."""

import asyncio
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


async def item(request):
    await pool.execute(marked(request, "select name, stars, author_id from items where id = 7"))
    await pool.execute(marked(request, "select name from authors where id = 7"))
    return PlainTextResponse("done")


async def listing(request):
    await pool.execute(marked(request, "select id, author_id from items order by stars limit 10"))
    for number in range(int(request.query_params["r"]) % 7):
        await pool.execute(marked(request, f"select name from authors where id = {number + 1}"))
    return PlainTextResponse("done")


async def buy(request):
    await pool.execute(marked(request, "select name, stars, author_id from items where id = 8"))
    async with pool.acquire() as connection:
        for sql in ["begin", "select count(*) from items where stars = 3", "insert into visits (item) values (3)", "commit"]:
            await connection.execute(marked(request, sql))
    return PlainTextResponse("done")


async def both(request):
    await pool.execute(marked(request, "select name, stars, author_id from items where id = 9"))
    await asyncio.gather(*[pool.execute(marked(request, sql)) for sql in
                           ["select count(*) from items where stars = 2", "select count(*) from authors where id < 50"]])
    return PlainTextResponse("done")


pages = {"/held": held, "/each": each, "/item": item, "/list": listing, "/buy": buy, "/both": both}
app = Starlette(routes=[Route(path, page) for path, page in pages.items()], lifespan=lifespan)
