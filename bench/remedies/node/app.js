// Express, mysql2: thirty rows in a transaction, one INSERT for each (page) or one for all (mended).
const app = require("express")();
const pool = require("mysql2/promise").createPool({ host: "10.88.2.2", user: "pages", password: "pages", database: "pages", connectionLimit: 4 });

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
app.listen(Number(process.argv[2]), "10.88.1.2");
