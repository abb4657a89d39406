"""Thirty pages of one read each, whose statement has a comment.

Arguments: the library (asyncpg; psycopg; unprepared: psycopg that prepares nothing), and whether the comment carries
the trace (trace) or the route alone (route)."""

import asyncio
import os
import sys

PAGES = 30


def statement(page, placeholder, comment):
    trace = f",traceparent='00-{page + 1:032x}-{page + 1:016x}-01'" if comment == "trace" else ""
    return f"select name from items where id = {placeholder} /*route='/items/:id'{trace}*/"


async def with_asyncpg(comment):
    import asyncpg

    connection = await asyncpg.connect(os.environ["LONGWIRE_URL"])
    for page in range(PAGES):
        await connection.fetch(statement(page, "$1", comment), page)
    await connection.close()


def with_psycopg(comment):
    import psycopg

    with psycopg.connect(os.environ["LONGWIRE_URL"], autocommit=True, prepare_threshold=0) as connection:
        for page in range(PAGES):
            connection.execute(statement(page, "%s", comment), [page]).fetchall()


def unprepared(comment):
    import psycopg

    with psycopg.connect(os.environ["LONGWIRE_URL"], autocommit=True, prepare_threshold=None) as connection:
        for page in range(PAGES):
            connection.execute(statement(page, "%s", comment), [page]).fetchall()


library, comment = sys.argv[1:]
if library == "asyncpg":
    asyncio.run(with_asyncpg(comment))
elif library == "psycopg":
    with_psycopg(comment)
else:
    unprepared(comment)
