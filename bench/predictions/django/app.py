"""Django under gunicorn, psycopg 3; each worker keeps its connection. SQLCOMMENTER=package or =own names the requests in SQL comments."""

import os
import random

import django
from django.conf import settings

NAMING = {"package": ["google.cloud.sqlcommenter.django.middleware.SqlCommenter"], "own": ["named.middleware"]}

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="app",
    SECRET_KEY="of no use here",
    MIDDLEWARE=NAMING.get(os.environ.get("SQLCOMMENTER"), []),
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
        "USER": os.environ["PGUSER"], "NAME": os.environ["PGDATABASE"],
        "OPTIONS": {"sslmode": os.environ["PGSSLMODE"]},
        "CONN_MAX_AGE": None,
    }},
)
django.setup()

from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.db import models  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402


class Author(models.Model):
    name = models.TextField()

    class Meta:
        app_label, db_table, managed = "shop", "authors", False


class Item(models.Model):
    name = models.TextField()
    stars = models.IntegerField()
    author = models.ForeignKey(Author, models.DO_NOTHING)

    class Meta:
        app_label, db_table, managed = "shop", "items", False


def page(items):
    first = random.randint(1, 900)
    listed = items.filter(id__gte=first).order_by("id")[:12]
    rows = [{"id": item.id, "name": item.name, "stars": item.stars, "author": item.author.name} for item in listed]
    return JsonResponse(rows, safe=False)


@csrf_exempt
def n1(_request):
    return page(Item.objects)


@csrf_exempt
def joined(_request):
    return page(Item.objects.select_related("author"))


urlpatterns = [path("n1", n1), path("joined", joined)]
app = WSGIHandler()
