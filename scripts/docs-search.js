// docs-search.js FOLDER: the site's own search, as the browser does it, for words that people type; exits with 1 if the page of a symptom is not
// the first result.
const fs = require('fs');
const path = require('path');

const folder = path.resolve(process.argv[2]);
const pages = {
  'each query takes 40 ms': 'each-query-40-ms',
  '0.5 s to connect': 'slow-to-connect',
  'first query slow': 'first-query-slow',
  'slow only over the VPN': 'slow-only-over-the-vpn',
  'stalls after idle': 'slow-after-a-pause',
  'health checks': 'health-checks',
  'fast in the database': 'server-or-network',
  'wordpress slow': 'wordpress',
  '64 KiB window': 'slow-only-over-the-vpn',
  'DISCARD ALL': 'pool-resets',
  arraysize: 'fetch-size',
  autosave: 'savepoints',
  dblink: 'dblink',
  isValid: 'pool-checks',
  'n+1': 'many-queries',
  phpMyAdmin: 'phpmyadmin',
  pre_ping: 'pool-checks',
  serverless: 'serverless',
};

const elasticlunr = require(path.join(folder, 'elasticlunr.min.js'));
const window = { search: {} };
eval(fs.readFileSync(path.join(folder, 'searchindex.js'), 'utf8'));
const index = elasticlunr.Index.load(window.search.index);
let wrong = 0;
for (const [words, page] of Object.entries(pages)) {
  const [first] = index.search(words, window.search.search_options);
  const found = first ? window.search.doc_urls[first.ref] : 'nothing';
  if (!found.startsWith(`docs/symptoms/${page}.html`)) {
    console.log(`docs: the search for "${words}" finds ${found} first`);
    wrong += 1;
  }
}
console.log(`docs: ${Object.keys(pages).length} searches, ${wrong} of them wrong`);
process.exit(wrong ? 1 : 0);
