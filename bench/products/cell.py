#!/usr/bin/env python3
"""cell.py APP.json [--clients 1,4] [--rtt 2,10,40] [--out DIR] [-- EXTRA FLAGS OF predict]

Truth for `longwire predict` on an application of yours, in three network namespaces (net.sh setup), measured in two alternating halves:
near (captured), far at each round trip, near (captured again), far again. Prints a row for each operation, round trip and number of clients:
measured median of both halves and their difference, predicted median and bounds from the first capture, error, inside or OUT.

APP.json: {"start": "command run by sh once, in no namespace; it places its processes with `ip netns exec $WEB ...` and `ip netns exec $DB ...`",
  "stop": "command", "base": "http://10.88.1.2:8000", "on": "postgres", "n": 20,
  "ops": [{"name": "page", "method": "GET", "path": "/page?u={u}", "body": null, "headers": {}, "match": "regex on operation_name"}]}
{u} is a number never used before; in headers and bodies {c} is the client's number (from 0), and a name of the file "vars" (JSON: name -> a list of
strings, one for each client; written by "start") is replaced too. The database listens on 10.88.2.2. LW names the binary (default: target/release/longwire).
Results also go to DIR/cells.jsonl; captures, requests' times and what read, predict and check print stay in DIR, to be read for false sentences.
More than 1 % of failed requests make a cell INVALID. A summary ends the table (median, 90th percentile, worst, coverage with Wilson's interval, share
not predicted). `on` is passed as --on; leave it out to see what a person gets who names nothing."""
import argparse,http.client,json,os,re,statistics as st,subprocess as sp,sys,threading,time,urllib.parse
H=os.path.dirname(os.path.abspath(__file__)); P=os.environ.get('P','cell'); LW=os.environ.get('LW','target/release/longwire'); NET=[H+'/net.sh']
def drive(cfg,clients,budget):
    own=json.load(open(os.path.expandvars(cfg['vars']))) if cfg.get('vars') else {}; fill=lambda s,me:re.sub(r'\{(\w+)\}',lambda m:own[m[1]][me] if m[1] in own else m[0],s.replace('{c}',str(me)))
    res={}; u=urllib.parse.urlparse(cfg['base']); uniq=[int(time.time()*1000)%10**9]; lock=threading.Lock()
    for op in cfg['ops']:
        ts=[]; bad=[]; end=time.monotonic()+budget; left=[op.get('n',cfg.get('n',20))*clients]
        def loop(me):
            c=http.client.HTTPConnection(u.hostname,u.port,timeout=60); k=0
            while True:
                with lock:
                    if left[0]<=0: break
                    left[0]-=1; uniq[0]+=1; q=str(uniq[0])
                if time.monotonic()>end and k>=4: break
                b=op.get('body'); b=fill(b,me).replace('{u}',q).encode() if b else None; t=time.perf_counter(); k+=1
                try: c.request(op.get('method','GET'),op['path'].replace('{u}',q),b,{h:fill(v,me) for h,v in (op.get('headers') or {}).items()}); r=c.getresponse(); r.read()
                except Exception as e: bad.append(repr(e)); c.close(); continue
                ts.append((time.perf_counter()-t)*1000)
                if r.status>=400: bad.append(str(r.status))
        th=[threading.Thread(target=loop,args=(i,)) for i in range(clients)]; [t.start() for t in th]; [t.join() for t in th]
        res[op['name']]={'ms':ts,'bad':len(bad),'first_bad':bad[:1]}; time.sleep(0.3)
    return res
if len(sys.argv)>1 and sys.argv[1]=='--drive':
    cfg=json.load(open(sys.argv[2])); json.dump(drive(cfg,int(sys.argv[3]),float(sys.argv[4])),open(sys.argv[5],'w')); sys.exit()
argv=sys.argv[1:]; extra=argv[argv.index('--')+1:] if '--' in argv else []; argv=argv[:argv.index('--')] if '--' in argv else argv
a=argparse.ArgumentParser(description=__doc__,formatter_class=argparse.RawDescriptionHelpFormatter); a.add_argument('app'); a.add_argument('--clients',default='1,4'); a.add_argument('--rtt',default='2,10,40'); a.add_argument('--out',default='cells-out'); o=a.parse_args(argv)
cfg=json.load(open(o.app)); os.makedirs(o.out,exist_ok=True); env=dict(os.environ,WEB=P+'-web',DB=P+'-db',CLI=P+'-cli')
def remote(tag,clients,budget=60):
    f=f'{o.out}/{tag}.json'; sp.run(['ip','netns','exec',P+'-cli',sys.executable,os.path.abspath(__file__),'--drive',o.app,str(clients),str(budget),f],check=True); return json.load(open(f))
def capture(tag,clients):
    t=sp.Popen(['ip','netns','exec',P+'-web','tcpdump','-q','-U','-B','32768','-i','any','-w',f'{o.out}/{tag}.pcap','tcp and not port 22'],stderr=sp.DEVNULL); time.sleep(1); r=remote(tag,clients); time.sleep(1.2); t.terminate(); t.wait(); return r
def net(*x):
    r=sp.run(NET+list(x),stdout=sp.DEVNULL)
    if r.returncode: sys.exit('cell.py: net.sh '+' '.join(x)+' failed')
def near(): net('near'); time.sleep(.3)
def far(r):
    net('far',str(int(r*500))); time.sleep(.2)
    p=sp.run(['ip','netns','exec',P+'-web','ping','-c','15','-i','0.05','10.88.2.2'],capture_output=True,text=True).stdout; v=sorted(float(x) for x in re.findall(r'time=([\d.]+)',p))
    if not v: sys.exit('cell.py: no ping from the web host to 10.88.2.2 over the link')
    return v[len(v)//2]
if sp.run(['ip','-n',P+'-web','link','show','t0'],capture_output=True).returncode: net('setup')
near(); sp.run(cfg['start'],shell=True,env=env,check=True); out=open(f'{o.out}/cells.jsonl','a'); med=lambda x:st.median(x['ms']) if x['ms'] else float('nan'); cells=[]
try:
    for c in map(int,o.clients.split(',')):
        [remote('warm',c,4) for _ in range(cfg.get('warm',1))]; N=[];F={}
        for half in (1,2):
            near(); N.append(capture(f'near-{c}-{half}',c))
            for r in map(float,o.rtt.split(',')):
                rtt=far(r); remote('settle',min(c,2),1); F.setdefault(r,[]).append((rtt,remote(f"far-{c}-{r}-{half}",c,100)))
        near(); cmd=[LW,'predict',f'{o.out}/near-{c}-1.pcap','--clients',str(c),'--json']+(['--on',cfg['on']] if cfg.get('on') else [])
        for r,x in F.items(): cmd+=['--link',f'rtt={x[0][0]}ms']
        p=sp.run(cmd+extra,capture_output=True,text=True); last=(p.stderr.strip().splitlines() or [''])[-1]
        for w,x in (('read',[]),('check',['--forbid','n+1'])):
            y=sp.run([LW,w,f'{o.out}/near-{c}-1.pcap']+x,capture_output=True,text=True); open(f'{o.out}/{w}-{c}.txt','w').write(y.stdout+y.stderr+f'\nstatus {y.returncode}\n')
        rec=[json.loads(l) for l in p.stdout.splitlines() if l.startswith('{')]; open(f'{o.out}/predict-{c}.err','w').write(p.stderr)
        for op in cfg['ops']:
            m=op.get('match') or '^'+re.escape(op.get('method','GET')+' '+re.split(r'[?{]',op['path'])[0])+r'(\?|$)'
            for r,x in F.items():
                rtt=x[0][0]; h=[med(y[1][op['name']]) for y in x]; truth=sum(h)/2; q=[j for j in rec if j.get('type')=='prediction' and re.search(m,j['operation_name']) and abs(j['rtt_ns']/1e6-rtt)<.002]
                head=f"{cfg.get('name',os.path.basename(o.app)):<12} {op['name']:<14} {c} clients {rtt:>6.2f} ms  near {med(N[0][op['name']]):>7.2f}  far {h[0]:>8.2f} {h[1]:>8.2f} (halves {100*(h[1]/h[0]-1):+.1f} %)"
                n=sum(len(y[1][op['name']]['ms'])+y[1][op['name']]['bad'] for y in x); b=sum(y[1][op['name']]['bad'] for y in x)+N[0][op['name']]['bad']
                if b>.01*n: print(head,f'INVALID: {b} of {n} requests failed, {[y[1][op["name"]]["first_bad"] for y in x]}'); continue
                names=sorted({j['operation_name'] for j in q})
                if len(names)>1: print(head,'several operations match, give "match":',names); continue
                if not q: print(head,f' NOT PREDICTED (status {p.returncode}; {last[:120]})'); cells.append(None); out.write(json.dumps(dict(app=o.app,op=op['name'],clients=c,rtt=rtt,far=h,predicted=None))+'\n'); continue
                j=max(q,key=lambda j:j.get('operations',0)); d=j.get('duration_ns'); e=100*(d/1e6/truth-1) if d else float('nan'); ok=j['low_ns']/1e6<=truth<=j['high_ns']/1e6
                print(head,f" predicted {(d or 0)/1e6:>8.2f} {e:+.1f} % [{j['low_ns']/1e6:.2f} .. {j['high_ns']/1e6:.2f}] {'in' if ok else 'OUT'}; round trips {j.get('turns')}, real slope {(truth-med(N[0][op['name']]))/rtt:.1f}")
                cells.append((abs(e),ok)); out.write(json.dumps(dict(app=o.app,op=op['name'],clients=c,rtt=rtt,far=h,predicted=(d or 0)/1e6,low=j['low_ns']/1e6,high=j['high_ns']/1e6,error=e,inside=ok))+'\n')
finally:
    near(); 
    if cfg.get('stop'): sp.run(cfg['stop'],shell=True,env=env)
got=[c for c in cells if c]
if got:
    E=sorted(c[0] for c in got); n=len(got); k=sum(c[1] for c in got)/n; z=1.96; mid=(k+z*z/2/n)/(1+z*z/n); half=z*(k*(1-k)/n+z*z/4/n/n)**.5/(1+z*z/n)
    print(f'{n} cells: median {st.median(E):.1f} %, 90th percentile {E[min(n-1,int(.9*n))]:.1f} %, worst {E[-1]:.1f} %; inside {100*k:.0f} % (Wilson {100*(mid-half):.0f} to {100*(mid+half):.0f} %); not predicted {cells.count(None)}')
