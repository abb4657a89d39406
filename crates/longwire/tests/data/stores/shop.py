"""A web application: `shop.py PORT REQUESTS` answers so many requests, one at a time, and ends.

A page asks the cache twice and the database four times, over connections that stay open, as the variables of its environment say.
"""

import os

import page
import psycopg
import redis

database = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=None)
cache = redis.Redis.from_url(os.environ["REDIS_URL"])
cache.ping()


def products(path):
    cache.get(path)
    products = database.execute("select i from generate_series(1, 3) i").fetchall()
    for product in products:
        database.execute("select 'product ' || %s", product).fetchall()
    cache.set(path, len(products))
    return f"{len(products)} products\n"


page.answer(products)
