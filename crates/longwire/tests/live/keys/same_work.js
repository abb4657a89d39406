// The same work as the other programs do: same_work.js postgres|mariadb PORT off|on
const [kind, port, tls] = process.argv.slice(2);
const ssl = tls === 'on' ? { rejectUnauthorized: false } : undefined;

async function postgres() {
  const { Client } = require('pg');
  const connection = new Client({ host: '127.0.0.1', port: Number(port), user: 'postgres', database: 'postgres', ssl });
  await connection.connect();
  for (let n = 1; n <= 5; n++) await connection.query('select name from numbers where n = $1', [n]);
  await connection.query('select n, name from numbers order by n');
  await connection.query('begin');
  await connection.query('insert into marks values ($1)', [7]);
  await connection.query('commit');
  await connection.end();
}

async function mariadb() {
  const account = { user: 'longwire', password: 'longwire-secret', database: 'test' };
  const mysql = require('mysql2/promise');
  const connection = await mysql.createConnection({ host: '127.0.0.1', port: Number(port), ssl, ...account });
  for (let n = 1; n <= 5; n++) await connection.execute('select name from numbers where n = ?', [n]);
  await connection.query('select n, name from numbers order by n');
  await connection.beginTransaction();
  await connection.execute('insert into marks values (?)', [7]);
  await connection.commit();
  await connection.end();
}

({ postgres, mariadb })[kind]();
