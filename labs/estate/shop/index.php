<?php
// A page of eight products and what is in stock of them, which another service knows. How often each was reviewed is asked one by one;
// with ?fixed=in once for all, with ?fixed=kept so and over a connection that PDO keeps, with ?fixed=mysqli over one that mysqli keeps.
function asked_of_catalog(string $fixed): callable
{
    if ($fixed === 'kept') {
        $kept = new PDO('mysql:host=catalog;dbname=estate', 'estate', 'estate', [PDO::ATTR_PERSISTENT => true]);
        return fn (string $statement) => $kept->query($statement)->fetchAll(PDO::FETCH_BOTH);
    }
    mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
    $catalog = mysqli_connect($fixed === 'mysqli' ? 'p:catalog' : 'catalog', 'estate', 'estate', 'estate');
    return fn (string $statement) => mysqli_fetch_all(mysqli_query($catalog, $statement), MYSQLI_BOTH);
}
$fixed = $_GET['fixed'] ?? '';
$ask = asked_of_catalog($fixed);
$products = $ask('SELECT id, name FROM product WHERE id <= 8');
if ($fixed !== '') {
    $ids = implode(',', array_map('intval', array_column($products, 'id')));
    $reviews = array_column($ask("SELECT product, count(*) FROM review WHERE product IN ($ids) GROUP BY product"), 1, 0);
} else {
    $reviews = [];
    foreach ($products as $product) {
        $reviews[$product['id']] = $ask('SELECT count(*) FROM review WHERE product = ' . (int) $product['id'])[0][0];
    }
}
$stock = file_get_contents('http://stock/');
echo json_encode(['products' => $products, 'reviews' => $reviews, 'stock' => json_decode($stock)]);
