"""seed.py APP.json: 120 clients and 300 access tokens; prints APP.json with a token in it."""
import base64, json, sys, urllib.request
def post(url, body, headers):
    return json.load(urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)))
for c in range(120):
    post('http://10.88.1.2:4445/admin/clients', json.dumps({'client_id': f'app-{c}', 'client_name': f'Application {c}', 'client_secret': 'demo-secret', 'owner': f'team-{c % 7}', 'scope': 'openid offline read write',
        'grant_types': ['client_credentials', 'authorization_code', 'refresh_token'], 'response_types': ['code'], 'redirect_uris': [f'http://10.88.1.2:3000/{c}'], 'contacts': ['ana@example.com'], 'metadata': {'tier': c % 3}}), {'content-type': 'application/json'})
for t in range(300):
    basic = base64.b64encode(f'app-{t % 120}:demo-secret'.encode()).decode()
    token = post('http://10.88.1.2:4444/oauth2/token', 'grant_type=client_credentials&scope=read', {'authorization': 'Basic ' + basic, 'content-type': 'application/x-www-form-urlencoded'})['access_token']
print(open(sys.argv[1]).read().replace('TOKEN', token))
