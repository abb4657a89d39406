import os, psycopg, pytest

LONGWIRE = pytest.StashKey()

def pytest_sessionstart(session):
    if "LONGWIRE_URL" in os.environ:          # under longwire
        session.stash[LONGWIRE] = psycopg.connect(os.environ["LONGWIRE_URL"], autocommit=True)

def pytest_sessionfinish(session):
    if LONGWIRE in session.stash:
        session.stash[LONGWIRE].close()

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):                # the test's function alone, not its fixtures
    marks = item.session.stash.get(LONGWIRE, None)
    if marks is None:
        return (yield)
    name = item.nodeid.replace('"', "'")
    marks.execute(f'SELECT 1 AS "longwire {name}"')
    try:
        return (yield)
    finally:
        marks.execute("SELECT 1 AS longwire")
