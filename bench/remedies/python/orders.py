"""Django, psycopg: orders with their customers, one query for each (page), one for all (mended) or a join (joined)."""

import os
import sys

import django
from django.conf import settings
from django.db import models
from django.http import HttpResponse
from django.urls import path

settings.configure(
    SECRET_KEY="none",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": os.environ.get("PGHOST", "10.88.2.2"),
            "PORT": os.environ.get("PGPORT", "5432"),
            "USER": "pages",
            "PASSWORD": "pages",
            "NAME": "pages",
            "CONN_MAX_AGE": None,
        }
    },
)
django.setup()


class Customer(models.Model):
    name = models.TextField()

    class Meta:
        app_label = "pages"
        db_table = "customers"


class Order(models.Model):
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE)
    total = models.IntegerField()

    class Meta:
        app_label = "pages"
        db_table = "orders"


def page(orders):
    return HttpResponse("\n".join(f"{order.id} {order.customer.name}" for order in orders))


urlpatterns = [
    path("page", lambda _: page(Order.objects.order_by("id")[:40])),
    path("mended", lambda _: page(Order.objects.prefetch_related("customer").order_by("id")[:40])),
    path("joined", lambda _: page(Order.objects.select_related("customer").order_by("id")[:40])),
]

if __name__ == "__main__":
    from django.core.wsgi import get_wsgi_application
    from waitress import serve

    serve(get_wsgi_application(), host="10.88.1.2", port=int(sys.argv[1]), threads=1)
