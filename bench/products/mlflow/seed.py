"""seed.py APP.json: 8 experiments of 25 runs with parameters, metrics and tags, 12 registered models of 3 versions; prints APP.json with a run's and an experiment's id in it."""
import json, sys, urllib.request
def post(path, **body):
    request = urllib.request.Request('http://10.88.1.2:5000/api/2.0/mlflow/' + path, json.dumps(body).encode(), {'content-type': 'application/json'})
    return json.load(urllib.request.urlopen(request))
now = 1_760_000_000_000
for e in range(8):
    experiment = post('experiments/create', name=f'churn-{e}', tags=[{'key': 'team', 'value': f'team-{e % 3}'}])['experiment_id']
    for r in range(25):
        info = post('runs/create', experiment_id=experiment, start_time=now + r * 60_000, run_name=f'gbm-{e}-{r}', tags=[{'key': 'mlflow.user', 'value': f'ana-{r % 4}'}])['run']['info']; run = info['run_id']
        post('runs/log-batch', run_id=run, params=[{'key': k, 'value': str((r * 7 + i) % 30)} for i, k in enumerate(('depth', 'trees', 'rate', 'subsample', 'l2', 'seed'))],
             metrics=[{'key': k, 'value': 1 / (s + 1) + r / 100, 'timestamp': now + s, 'step': s} for k in ('loss', 'auc', 'f1') for s in range(12)],
             tags=[{'key': 'stage', 'value': 'trial'}, {'key': 'git', 'value': f'{r:07x}'}])
for m in range(12):
    post('registered-models/create', name=f'model-{m}', tags=[{'key': 'owner', 'value': f'ana-{m % 4}'}], description='Predicts churn from thirty days of use.')
    for v in range(3):
        post('model-versions/create', name=f'model-{m}', source=info['artifact_uri'] + '/model', run_id=run, tags=[{'key': 'v', 'value': str(v)}])
# What is written goes where nothing is read, so that a page costs the same from the first request to the last.
scratch = post('experiments/create', name='scratch')['experiment_id']
other = post('runs/create', experiment_id=scratch, start_time=now)['run']['info']['run_id']
print(open(sys.argv[1]).read().replace('RUN', run).replace('EXPERIMENT', experiment).replace('SCRATCH', scratch).replace('OTHER', other))
