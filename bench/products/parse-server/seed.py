"""seed.py APP.json: 12 brands, 200 products, 40 users, 150 orders of 3 products; prints APP.json with objects' ids and a session in it."""
import json, sys, urllib.request
def post(path, body):
    request = urllib.request.Request('http://10.88.1.2:1337/parse/' + path, json.dumps(body).encode(), {'content-type': 'application/json', 'x-parse-application-id': 'shop', 'x-parse-rest-api-key': 'demo-rest'})
    return json.load(urllib.request.urlopen(request))
def schema(kind, **fields):  # whole, since FerretDB does not add a field to a schema where Parse Server asks for it with an upsert
    request = urllib.request.Request(f'http://10.88.1.2:1337/parse/schemas/{kind}', json.dumps({'className': kind, 'fields': fields}).encode(), {'content-type': 'application/json', 'x-parse-application-id': 'shop', 'x-parse-master-key': 'demo-master'}, method='POST')
    return urllib.request.urlopen(request).read()
text, number = {'type': 'String'}, {'type': 'Number'}
def to(kind): return {'type': 'Pointer', 'targetClass': kind}
schema('Brand', name=text, country=text)
schema('Product', name=text, category=text, price=number, stock=number, brand=to('Brand'), text=text)
schema('Order', customer=to('_User'), lines={'type': 'Array'}, state=text, number=text)
schema('Visit', customer=to('_User'), product=to('Product'), page=text)
def pointer(kind, id): return {'__type': 'Pointer', 'className': kind, 'objectId': id}
brands = [post('classes/Brand', {'name': f'Brand {b}', 'country': 'CH'})['objectId'] for b in range(12)]
products = [post('classes/Product', {'name': f'Product {p}', 'category': f'c{p % 10}', 'price': p * 1.5, 'stock': p % 9, 'brand': pointer('Brand', brands[p % 12]), 'text': 'Well made, light, and easy to repair. ' * 3})['objectId'] for p in range(200)]
users = [post('users', {'username': f'ana-{u}', 'password': 'demo-password', 'email': f'ana-{u}@example.com'}) for u in range(40)]
orders = [post('classes/Order', {'customer': pointer('_User', users[o % 40]['objectId']), 'lines': [pointer('Product', products[(o * 7 + i) % 200]) for i in range(3)], 'state': ('open', 'paid', 'sent')[o % 3]})['objectId'] for o in range(150)]
print(open(sys.argv[1]).read().replace('PRODUCT', products[42]).replace('USER', users[7]['objectId']).replace('ORDER', orders[9]).replace('SESSION', users[7]['sessionToken']))
