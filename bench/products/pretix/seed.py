"""Seeds pretix, in its own shell: an organizer, a conference with 12 items and quotas, 80 orders, a user and a token of its interface."""

from datetime import timedelta
from decimal import Decimal

from django.utils.timezone import now
from django_scopes import scopes_disabled

from pretix.base.models import Event, Order, OrderPosition, Organizer, Team, TeamAPIToken, User


def seed_event(organizer):
    start = now() + timedelta(days=90)
    event = Event.objects.create(
        organizer=organizer, name="Conference", slug="conf", currency="EUR", date_from=start, live=True,
        plugins="pretix.plugins.banktransfer", is_public=True,
    )
    event.set_defaults()
    categories = [event.categories.create(name=f"Category {n}", position=n) for n in range(3)]
    rule = event.tax_rules.create(rate=Decimal("19.00"), name="VAT")
    items = []
    for n in range(12):
        item = event.items.create(
            name=f"Ticket {n}", category=categories[n % 3], default_price=Decimal(20 + n), tax_rule=rule, admission=n % 2 == 0, position=n,
        )
        quota = event.quotas.create(name=f"Quota {n}", size=5000)
        quota.items.add(item)
        items.append(item)
    return event, items


def seed_orders(event, items):
    channel = event.organizer.sales_channels.get(identifier="web")
    for n in range(80):
        order = Order.objects.create(
            code=f"AB{n:03d}".replace("0", "C").replace("1", "D").replace("2", "E").replace("5", "F").replace("6", "G"),
            secret=f"secret{n:010d}", event=event, email=f"guest{n}@example.org", locale="en", sales_channel=channel,
            status=Order.STATUS_PAID if n % 3 else Order.STATUS_PENDING, datetime=now() - timedelta(hours=n),
            expires=now() + timedelta(days=30), total=Decimal(0),
        )
        for k in range(1 + n % 3):
            item = items[(n + k) % len(items)]
            OrderPosition.objects.create(
                order=order, item=item, price=item.default_price, attendee_name_parts={"full_name": f"Guest {n} {k}", "_scheme": "full"},
                tax_rate=Decimal("19.00"), tax_value=Decimal("3.19"), tax_rule=item.tax_rule, positionid=k + 1,
            )
            order.total += item.default_price
        order.save()
        order.create_transactions(is_new=True)
        order.payments.create(provider="banktransfer", state="confirmed" if n % 3 else "created", amount=order.total)


with scopes_disabled():
    organizer = Organizer.objects.create(name="Demo", slug="demo")
    user = User.objects.create_superuser("admin@example.org", "demodemo")
    team = Team.objects.create(
        organizer=organizer, name="All", all_events=True, all_event_permissions=True, all_organizer_permissions=True
    )
    team.members.add(user)
    TeamAPIToken.objects.create(team=team, name="bench", token="demo" * 16)
    seed_orders(*seed_event(organizer))
    print("seeded", Order.objects.count(), "orders; the first:", Order.objects.order_by("pk").first().code)
