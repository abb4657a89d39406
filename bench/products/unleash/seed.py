"""150 feature flags with strategies, tags and two environments, 12 segments of constraints, and a session's cookie is not needed: an admin token asks."""
import json, urllib.request
def post(path, body, method='POST'):
    request = urllib.request.Request('http://10.88.1.2:4242/api/admin/' + path, json.dumps(body).encode(), {'content-type': 'application/json', 'authorization': '*:*.demo-admin'}, method=method)
    return urllib.request.urlopen(request).read()
for s in range(12):
    post('segments', {'name': f'segment-{s}', 'description': 'People of a region', 'constraints': [{'contextName': 'userId', 'operator': 'IN', 'values': [str(v) for v in range(s, s + 20)]}]})
for f in range(150):
    post('projects/default/features', {'name': f'flag-{f}', 'type': ('release', 'experiment', 'kill-switch')[f % 3], 'description': f'Shows part {f} of the page to some people'})
    for environment in ('development', 'production'):
        post(f'projects/default/features/flag-{f}/environments/{environment}/strategies', {'name': 'flexibleRollout', 'parameters': {'rollout': str(f % 100), 'stickiness': 'default', 'groupId': f'flag-{f}'}, 'segments': [f % 12 + 1]})
    post(f'projects/default/features/flag-{f}/environments/development/on', {})
    post(f'features/flag-{f}/tags', {'type': 'simple', 'value': f'team-{f % 7}'})
