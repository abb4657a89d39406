<?php
// The same work as the other programs do: same_work.php postgres|mariadb PORT off|AUTHORITY
[, $kind, $port, $authority] = $argv;
$tls = $authority !== 'off';
$options = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
if ($kind === 'postgres') {
    $mode = $tls ? 'require' : 'disable';
    $source = "pgsql:host=127.0.0.1;port=$port;dbname=postgres;sslmode=$mode";
    $connection = new PDO($source, 'postgres', null, $options);
} else {
    if ($tls) {
        $options += [PDO::MYSQL_ATTR_SSL_CA => $authority, PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => false];
    }
    $source = "mysql:host=127.0.0.1;port=$port;dbname=test";
    $connection = new PDO($source, 'longwire', 'longwire-secret', $options);
}
$one = $connection->prepare('select name from numbers where n = ?');
for ($n = 1; $n <= 5; $n++) {
    $one->execute([$n]);
    $one->fetchAll();
}
if (count($connection->query('select n, name from numbers order by n')->fetchAll()) !== 500) {
    throw new Exception('the table has 500 rows');
}
$connection->beginTransaction();
$connection->prepare('insert into marks values (?)')->execute([7]);
$connection->commit();
