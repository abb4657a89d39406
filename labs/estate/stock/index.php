<?php
// What is in stock, and what is on order: two statements.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$orders = mysqli_connect('orders', 'estate', 'estate', 'estate');
$stock = mysqli_fetch_all(mysqli_query($orders, 'SELECT product, sum(amount) FROM stock GROUP BY product'));
$ordered = mysqli_fetch_row(mysqli_query($orders, 'SELECT count(*) FROM purchase'))[0];
echo json_encode(['stock' => $stock, 'ordered' => $ordered]);
