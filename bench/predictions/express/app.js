// Node: Express, pg with a pool of eight connections.
const express = require('express');
const { Pool } = require('pg');

const ssl = process.env.PGSSLMODE === 'require' ? { rejectUnauthorized: false } : false;
const pool = new Pool({ max: 8, ssl, idleTimeoutMillis: 0 });
const app = express();
if (process.env.SQLCOMMENTER === 'own') require('./named')(app, pool);
const item = () => 1 + Math.floor(Math.random() * 1000);
const lookUp = async (sql, number) =>
  (await sql.query('select id, name, stars from items where id = $1', [number])).rows[0];

app.all('/one', async (_request, response) => response.json([await lookUp(pool, item())]));

app.all('/eight', async (_request, response) => {
  const rows = [];
  for (let n = 0; n < 8; n++) rows.push(await lookUp(pool, item()));
  response.json(rows);
});

app.all('/parallel', async (_request, response) =>
  response.json(await Promise.all([1, 2, 3, 4].map(() => lookUp(pool, item())))));

app.all('/transaction', async (_request, response) => {
  const number = item();
  const client = await pool.connect();
  try {
    await client.query('begin');
    const row = await lookUp(client, number);
    await client.query('update items set stars = stars + 1 where id = $1', [number]);
    await client.query('insert into visits (item) values ($1)', [number]);
    await client.query('commit');
    response.json([row]);
  } finally {
    client.release();
  }
});

const listed = (columns, tables) =>
  pool.query(`select ${columns} from ${tables} where i.id >= $1 order by i.id limit 12`, [1 + Math.floor(Math.random() * 900)]);

app.all('/n1', async (_request, response) => {
  const rows = [];
  for (const { author_id: author, ...item } of (await listed('i.id, i.name, i.stars, i.author_id', 'items i')).rows) {
    const { rows: [{ name }] } = await pool.query('select name from authors where id = $1', [author]);
    rows.push({ ...item, author: name });
  }
  response.json(rows);
});

app.all('/joined', async (_request, response) =>
  response.json((await listed('i.id, i.name, i.stars, a.name as author', 'items i join authors a on a.id = i.author_id')).rows));

app.listen(process.env.PORT, process.env.HOST ?? '127.0.0.1');
