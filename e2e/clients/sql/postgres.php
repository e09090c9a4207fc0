<?php
// Stock PDO and pgsql of PHP: PORT USER PASSWORD. Named statements and emulated ones, lastInsertId, the pgsql functions, a
// persistent connection. Prints each number as `orders NUMBER`, and `ok`.
error_reporting(E_ALL);
set_error_handler(function ($level, $message) {
    throw new ErrorException($message);
});

[, $port, $user, $password] = $argv;
$last = 0;

function got($number)
{
    global $last;
    check((int) $number > $last, "$number after $last");
    $last = (int) $number;
    echo "orders $number\n";
}

function check($holds, $what)
{
    if (!$holds) {
        throw new Exception($what);
    }
}

function refused($state, $call)
{
    try {
        $call();
    } catch (PDOException $error) {
        check($error->getCode() === $state, $error->getMessage());
        return;
    }
    throw new Exception("expected $state");
}

const NEXT = "SELECT nextval('orders')";

foreach ([false, true] as $emulated) {
    $pdo = new PDO("pgsql:host=127.0.0.1;port=$port;dbname=ids", $user, $password, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => $emulated,
    ]);
    got($pdo->query(NEXT)->fetchColumn());
    $prepared = $pdo->prepare('SELECT nextval(?)');
    for ($n = 0; $n < 7; $n++) {
        $prepared->execute(['orders']);
        got($prepared->fetchColumn());
    }
    $prepared = null;
    check((int) $pdo->lastInsertId('orders') === $last, 'currval');
    check((int) $pdo->lastInsertId() === $last, 'lastval');
    refused('42P01', fn () => $pdo->query("SELECT nextval('nosuch')"));
    refused('42P01', fn () => $pdo->prepare('SELECT nextval(?)')->execute(['nosuch']));
    $pdo->beginTransaction();
    got($pdo->query(NEXT)->fetchColumn());
    refused('42P01', fn () => $pdo->query("SELECT nextval('nosuch')"));
    refused('25P02', fn () => $pdo->query(NEXT));
    $pdo->rollBack();
    foreach ($pdo->query("SELECT nextval('orders') FROM generate_series(1, 5)") as [$number]) {
        got($number);
    }
    $pdo->beginTransaction();
    got($pdo->query(NEXT)->fetchColumn());
    $pdo->commit();
    check($pdo->getAttribute(PDO::ATTR_SERVER_VERSION) !== '', 'version');
    $pdo = null;
}

$where = "host=127.0.0.1 port=$port user=$user password=$password dbname=ids";
for ($n = 0; $n < 2; $n++) {
    $connection = pg_pconnect($where);
    got(pg_fetch_result(pg_query($connection, NEXT), 0, 0));
    got(pg_fetch_result(pg_query_params($connection, 'SELECT nextval($1)', ['orders']), 0, 0));
    pg_prepare($connection, "next$n", 'SELECT nextval($1)');
    for ($m = 0; $m < 3; $m++) {
        got(pg_fetch_result(pg_execute($connection, "next$n", ['orders']), 0, 0));
    }
    pg_send_query($connection, "SELECT nextval('nosuch')");
    $result = pg_get_result($connection);
    check(pg_result_error_field($result, PGSQL_DIAG_SQLSTATE) === '42P01', 'state');
    check(pg_get_result($connection) === false, 'more');
    check(pg_ping($connection), 'ping');
    got(pg_fetch_result(pg_query($connection, NEXT), 0, 0));
    pg_close($connection);
}
echo "ok\n";
