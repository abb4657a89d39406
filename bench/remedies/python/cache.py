"""Flask, redis-py: thirty keys, one GET for each (page) or one MGET (mended)."""

import sys

import redis
from flask import Flask
from waitress import serve

KEYS = [f"article:{number}" for number in range(30)]
app = Flask(__name__)
cache = redis.Redis(host="10.88.2.2")
cache.mset({key: f"{key} " + "x" * 200 for key in KEYS})


@app.get("/page")
def page():
    return b"\n".join(cache.get(key) for key in KEYS)


@app.get("/mended")
def mended():
    return b"\n".join(cache.mget(KEYS))


serve(app, host="10.88.1.2", port=int(sys.argv[1]), threads=1)
