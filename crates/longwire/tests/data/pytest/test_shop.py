import os

import psycopg
import pytest


@pytest.fixture
def shop():
    with psycopg.connect(os.environ["LONGWIRE_URL"]) as connection:
        yield connection


@pytest.fixture
def full_shop(shop):
    for number in range(30):
        shop.execute("insert into article values (1000 + %s, 'x')", (number,))
    yield shop
    shop.execute("delete from article where i >= 1000")
    shop.commit()


def test_count(full_shop):
    full_shop.execute("select count(*) from article").fetchall()


def test_basket(shop):
    shop.autocommit = True
    shop.prepare_threshold = None
    for number in range(24):
        shop.execute("select name from article where i = %s", (number,)).fetchall()


@pytest.mark.xfail(strict=True)
def test_that_fails(full_shop):
    full_shop.execute("select 1 / 0")
