"""Python, asynchronous: Starlette under uvicorn, one event loop, asyncpg with a pool of eight connections."""

import asyncio
import contextlib
import os
import random

import asyncpg
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

SELECT = "select id, name, stars from items where id = $1"
pool = None


@contextlib.asynccontextmanager
async def lifespan(_app):
    global pool
    pool = await asyncpg.create_pool(ssl=os.environ["PGSSLMODE"], min_size=8, max_size=8)
    yield
    await pool.close()


def item():
    return random.randint(1, 1000)


async def look_up(number):
    return dict(await pool.fetchrow(SELECT, number))


async def one(_request):
    return JSONResponse([await look_up(item())])


async def eight(_request):
    async with pool.acquire() as connection:
        rows = [dict(await connection.fetchrow(SELECT, item())) for _ in range(8)]
    return JSONResponse(rows)


async def parallel(_request):
    return JSONResponse(await asyncio.gather(*(look_up(item()) for _ in range(4))))


async def transaction(_request):
    number = item()
    async with pool.acquire() as connection, connection.transaction():
        row = dict(await connection.fetchrow(SELECT, number))
        await connection.execute("update items set stars = stars + 1 where id = $1", number)
        await connection.execute("insert into visits (item) values ($1)", number)
    return JSONResponse([row])


pages = [one, eight, parallel, transaction]
app = Starlette(routes=[Route("/" + page.__name__, page, methods=["GET", "POST"]) for page in pages], lifespan=lifespan)
