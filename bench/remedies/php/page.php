<?php
// PDO, mysqlnd: three queries on a connection of its own (page) or one that is kept (mended).
$options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
if (str_starts_with($_SERVER['REQUEST_URI'], '/mended')) {
    $options[PDO::ATTR_PERSISTENT] = true;
}
$place = sprintf('mysql:host=%s;port=%d;dbname=pages', getenv('MYSQL_HOST') ?: '10.88.2.2', getenv('MYSQL_TCP_PORT') ?: 3306);
$database = new PDO($place, 'pages', 'pages', $options);
foreach (['select name from customers where id = ?', 'select total from orders where id = ?', 'select count(*) from orders where id < ?'] as $text) {
    $statement = $database->prepare($text);
    $statement->execute([71]);
    echo $statement->fetchColumn(), "\n";
}
