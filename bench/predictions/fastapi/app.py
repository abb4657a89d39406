"""FastAPI under uvicorn, one event loop; SQLAlchemy 2 with asyncpg and its own pool. SQLCOMMENTER=own names the requests in SQL comments."""

import os
import random

from fastapi import FastAPI
from sqlalchemy import ForeignKey, select
from sqlalchemy.ext.asyncio import AsyncAttrs, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, joinedload, mapped_column, relationship

url = "postgresql+asyncpg://{PGUSER}@{PGHOST}:{PGPORT}/{PGDATABASE}?ssl={PGSSLMODE}".format_map(os.environ)
engine = create_async_engine(url, pool_size=8)
session = async_sessionmaker(engine)
app = FastAPI()


class Base(AsyncAttrs, DeclarativeBase):
    pass


class Author(Base):
    __tablename__ = "authors"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


class Item(Base):
    __tablename__ = "items"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    stars: Mapped[int]
    author_id: Mapped[int] = mapped_column(ForeignKey("authors.id"))
    author: Mapped[Author] = relationship()


def listed():
    return select(Item).where(Item.id >= random.randint(1, 900)).order_by(Item.id).limit(12)


def row(item, author):
    return {"id": item.id, "name": item.name, "stars": item.stars, "author": author.name}


@app.api_route("/n1", methods=["GET", "POST"])
async def n1():
    async with session() as sql:
        return [row(item, await item.awaitable_attrs.author) for item in (await sql.scalars(listed())).all()]


@app.api_route("/joined", methods=["GET", "POST"])
async def joined():
    async with session() as sql:
        return [row(item, item.author) for item in await sql.scalars(listed().options(joinedload(Item.author)))]


if os.environ.get("SQLCOMMENTER") == "own":
    import named
    named.requests(app, engine)
