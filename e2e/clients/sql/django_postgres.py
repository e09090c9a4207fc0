"""Stock Django over psycopg 3 and psycopg2: numbers by its cursor, atomic blocks, an error, health checks of connections."""

import sys

import django
from django.conf import settings
from django.db import connections, transaction
from django.db.utils import ProgrammingError

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

# Django takes psycopg 3 where there is one: psycopg2 in a process of its own.
if sys.argv[4:] == ["psycopg2"]:
    sys.modules["psycopg"] = None

settings.configure(
    USE_TZ=True,
    TIME_ZONE="UTC",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": HOST,
            "PORT": PORT,
            "USER": USER,
            "PASSWORD": PASSWORD,
            "NAME": DATABASE,
            "CONN_HEALTH_CHECKS": True,
            "CONN_MAX_AGE": None,
        }
    },
)
django.setup()
connection = connections["default"]


def one(statement, values=None):
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchone()[0]


got(one("SELECT nextval('orders')"))
for _ in range(7):
    got(one("SELECT nextval(%s)", ["orders"]))
same(one("SELECT currval('orders')"), last["orders"])
with transaction.atomic():
    got(one("SELECT nextval('orders')"))

    def inner():
        with transaction.atomic():
            one("SELECT nextval('nosuch')")

    error = refused(ProgrammingError, inner)
    assert 'relation "nosuch" does not exist' in str(error), error
    got(one("SELECT nextval('orders')"))
same(connection.is_usable(), True)
connection.close_if_unusable_or_obsolete()
got(one("SELECT nextval('orders')"))
connection.close()
got(one("SELECT nextval('orders')"))
ok()
