// Express, mysql2: thirty rows in a transaction, one INSERT for each (page) or one for all (mended); forty orders with their customers, one
// query for each (list) or a join (joined); the totals of 24 orders, asked for at once over four connections (at-once) or in one query (one);
// three queries on a connection of their own (fresh) or one of the pool (pooled).
const app = require("express")();
const mysql = require("mysql2/promise");
const place = {
  host: process.env.MYSQL_HOST || "10.88.2.2",
  port: process.env.MYSQL_TCP_PORT || 3306,
  user: "pages",
  password: "pages",
  database: "pages",
};
const pool = mysql.createPool({ ...place, connectionLimit: 4 });

const rows = Array.from({ length: 30 }, (_, number) => [number, `article ${number}`, number * 3]);
const into = "insert into entries (order_id, article, price) values ";

async function written(write) {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    await write(connection);
    await connection.commit();
  } finally {
    connection.release();
  }
}

app.get("/page", async (_, response) => {
  await written(async (connection) => {
    for (const row of rows) await connection.query(into + "(?, ?, ?)", row);
  });
  response.send("written");
});
app.get("/mended", async (_, response) => {
  await written((connection) => connection.query(into + "?", [rows]));
  response.send("written");
});

const listed = (columns, tables) => pool.query(`select ${columns} from ${tables} order by o.id limit 40`);

app.get("/list", async (_, response) => {
  const [orders] = await listed("o.id, o.customer_id", "orders o");
  for (const order of orders) {
    const [[customer]] = await pool.query("select name from customers where id = ?", [order.customer_id]);
    order.name = customer.name;
  }
  response.json(orders);
});
app.get("/joined", async (_, response) => {
  const [orders] = await listed("o.id, o.customer_id, c.name", "orders o join customers c on c.id = o.customer_id");
  response.json(orders);
});

const ids = Array.from({ length: 24 }, (_, number) => number + 1);

app.get("/at-once", async (_, response) => {
  const answers = await Promise.all(ids.map((id) => pool.query("select id, total from orders where id = ?", [id])));
  response.json(answers.map(([[order]]) => order));
});
app.get("/one", async (_, response) => {
  const [orders] = await pool.query("select id, total from orders where id in (?) order by id", [ids]);
  response.json(orders);
});

async function three(connection) {
  const texts = ["select name from customers where id = ?", "select total from orders where id = ?", "select count(*) from orders where id < ?"];
  const found = [];
  for (const text of texts) found.push((await connection.query(text, [71]))[0][0]);
  return found;
}

app.get("/fresh", async (_, response) => {
  const connection = await mysql.createConnection(place);
  response.json(await three(connection));
  await connection.end();
});
app.get("/pooled", async (_, response) => {
  const connection = await pool.getConnection();
  response.json(await three(connection));
  connection.release();
});
app.listen(Number(process.argv[2]), "10.88.1.2");
