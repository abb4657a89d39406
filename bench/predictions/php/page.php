<?php
// PHP: plain PDO; a connection for each request. SQLCOMMENTER=own names the requests in SQL comments.
$route = trim(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH), '/');
// Without what could end the comment or the text: a client sent it.
$safe = fn($text) => preg_replace('~[^\w./-]~', '', $text);
$comment = getenv('SQLCOMMENTER') === 'own'
    ? " /*route='{$safe($route)}',traceparent='" . $safe($_SERVER['HTTP_TRACEPARENT'] ?? '') . "'*/" : '';
$place = sprintf('pgsql:host=%s;port=%s;dbname=%s;sslmode=%s', ...array_map('getenv', ['PGHOST', 'PGPORT', 'PGDATABASE', 'PGSSLMODE']));
$sql = new PDO($place, getenv('PGUSER'), null, [PDO::ATTR_DEFAULT_FETCH_MODE => PDO::FETCH_ASSOC]);
// A prepared statement sends its text, and so its comment, only once.
$sql->setAttribute(PDO::PGSQL_ATTR_DISABLE_PREPARES, $comment !== '');

$first = random_int(1, 900);
if ($route === 'joined') {
    $list = $sql->prepare("select i.id, i.name, i.stars, a.name as author from items i join authors a on a.id = i.author_id
        where i.id >= ? order by i.id limit 12$comment");
    $list->execute([$first]);
    $rows = $list->fetchAll();
} else {
    $list = $sql->prepare("select id, name, stars, author_id from items where id >= ? order by id limit 12$comment");
    $list->execute([$first]);
    $look_up = $sql->prepare("select name from authors where id = ?$comment");
    foreach ($list->fetchAll() as $item) {
        $look_up->execute([$item['author_id']]);
        $rows[] = ['id' => $item['id'], 'name' => $item['name'], 'stars' => $item['stars'], 'author' => $look_up->fetchColumn()];
    }
}
header('Content-Type: application/json');
$body = json_encode($rows);
header('Content-Length: ' . strlen($body));
echo $body;
