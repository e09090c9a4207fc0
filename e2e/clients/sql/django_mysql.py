"""Stock Django over mysqlclient: tickets and numbers by its cursor, atomic blocks, an error, health checks."""

import django
from django.conf import settings
from django.db import connections, transaction
from django.db.utils import DatabaseError

from told import DATABASE, HOST, PASSWORD, PORT, USER, got, last, ok, refused, same

settings.configure(
    USE_TZ=True,
    TIME_ZONE="UTC",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.mysql",
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


def ticket():
    with connection.cursor() as cursor:
        cursor.execute("REPLACE INTO tickets (stub) VALUES (%s)", ["a"])
        got(cursor.lastrowid, "tickets")
    same(one("SELECT LAST_INSERT_ID()"), last["tickets"])


ticket()
got(one("SELECT NEXTVAL(orders)"))
with transaction.atomic():
    ticket()

    def inner():
        with transaction.atomic():
            one("SELECT NEXTVAL(nosuch)")

    error = refused(DatabaseError, inner)
    same(error.args[0], 4091)
    got(one("SELECT NEXTVAL(orders)"))
same(connection.is_usable(), True)
connection.close_if_unusable_or_obsolete()
got(one("SELECT NEXTVAL(orders)"))
connection.close()
ticket()
ok()
