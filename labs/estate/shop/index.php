<?php
// A page of eight products and what is in stock of them, which another service knows. How often each was reviewed is asked one by one;
// with ?fixed=in once for all, with ?fixed=kept so and over a connection that is kept.
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
$fixed = $_GET['fixed'] ?? '';
$catalog = mysqli_connect($fixed === 'kept' ? 'p:catalog' : 'catalog', 'estate', 'estate', 'estate');
$products = mysqli_fetch_all(mysqli_query($catalog, 'SELECT id, name FROM product WHERE id <= 8'), MYSQLI_ASSOC);
if ($fixed !== '') {
    $ids = implode(',', array_map('intval', array_column($products, 'id')));
    $counted = mysqli_query($catalog, "SELECT product, count(*) FROM review WHERE product IN ($ids) GROUP BY product");
    $reviews = array_column(mysqli_fetch_all($counted), 1, 0);
} else {
    $reviews = [];
    foreach ($products as $product) {
        $counted = mysqli_query($catalog, 'SELECT count(*) FROM review WHERE product = ' . (int) $product['id']);
        $reviews[$product['id']] = mysqli_fetch_row($counted)[0];
    }
}
$stock = file_get_contents('http://stock/');
echo json_encode(['products' => $products, 'reviews' => $reviews, 'stock' => json_decode($stock)]);
