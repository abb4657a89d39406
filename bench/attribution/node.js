// Node: Express, pg: /held keeps a connection for its request, /each takes one for each statement.
const express = require('express');
const { Pool } = require('pg');

const pool = new Pool({ max: Number(process.env.POOL || 8), idleTimeoutMillis: 0 });
const app = express();

const marked = (request, sql) => {
  const parent = request.headers.traceparent;
  return `/* r=${request.query.r} */ ${sql}` + (parent ? ` /*traceparent='${parent}'*/` : '');
};
const select = (n) => `select id, name, stars from items where id = ${n + 1}`;

app.get('/held', async (request, response) => {
  const client = await pool.connect();
  try {
    for (let n = 0; n < 5; n++) await client.query(marked(request, select(n)));
  } finally {
    client.release();
  }
  response.send('done');
});

app.get('/each', async (request, response) => {
  for (let n = 0; n < 5; n++) await pool.query(marked(request, select(n)));
  response.send('done');
});

app.listen(process.env.PORT, '127.0.0.1');
