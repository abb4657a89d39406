"""Ten items by ten calls (/loop) or by one (/once), of the server at LONGWIRE_DYNAMODB_PORT."""

import os

import boto3
import page

counts = {"requests": 0, "replies": 0}


def count(what):
    def add(**_):
        counts[what] += 1

    return add


url = f"http://127.0.0.1:{os.environ['LONGWIRE_DYNAMODB_PORT']}"
client = boto3.client(
    "dynamodb", endpoint_url=url, region_name="us-east-1", aws_access_key_id="kestrel", aws_secret_access_key="kestrel"
)
client.meta.events.register("before-send.dynamodb", count("requests"))
client.meta.events.register("after-call.dynamodb", count("replies"))
key = {"AttributeName": "id"}
if "Orders" not in client.list_tables()["TableNames"]:
    client.create_table(
        TableName="Orders",
        KeySchema=[{**key, "KeyType": "HASH"}],
        AttributeDefinitions=[{**key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
keys = [{"id": {"S": f"osprey{number}"}} for number in range(10)]
for item in keys:
    client.put_item(TableName="Orders", Item=item)
pages = {
    "/loop": lambda: [client.get_item(TableName="Orders", Key=key)["Item"] for key in keys],
    "/once": lambda: client.batch_get_item(RequestItems={"Orders": {"Keys": keys}})["Responses"]["Orders"],
}
page.serve(pages, counts, client.close)
