<?php
// Stock mysqli and PDO of PHP: PORT USER PASSWORD. Emulated and native prepared statements, several statements at once,
// a persistent connection, which is changed to its user again. Prints each number as `NAME NUMBER`, and `ok`.
error_reporting(E_ALL);
set_error_handler(function ($level, $message) {
    throw new ErrorException($message);
});

[, $port, $user, $password] = $argv;
$last = ['orders' => 0, 'tickets' => 0];

function got($number, $name = 'orders')
{
    global $last;
    check((int) $number > $last[$name], "$name: $number after $last[$name]");
    $last[$name] = (int) $number;
    echo "$name $number\n";
}

function check($holds, $what)
{
    if (!$holds) {
        throw new Exception($what);
    }
}

const NEXT = 'SELECT NEXTVAL(orders)';
const TICKET = 'REPLACE INTO tickets (stub) VALUES (?)';

foreach ([false, true] as $emulated) {
    $pdo = new PDO("mysql:host=127.0.0.1;port=$port;dbname=ids", $user, $password, [
        PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
        PDO::ATTR_EMULATE_PREPARES => $emulated,
    ]);
    $replace = $pdo->prepare(TICKET);
    for ($n = 0; $n < 4; $n++) {
        $replace->execute(['a']);
        got($pdo->lastInsertId(), 'tickets');
        check((int) $pdo->query('SELECT LAST_INSERT_ID()')->fetchColumn() === $last['tickets'], 'LAST_INSERT_ID');
        got($pdo->query(NEXT)->fetchColumn());
    }
    try {
        $pdo->query('SELECT NEXTVAL(nosuch)');
        check(false, 'was answered');
    } catch (PDOException $error) {
        check($error->errorInfo[1] === 4091, $error->getMessage());
    }
    $pdo->beginTransaction();
    got($pdo->query(NEXT)->fetchColumn());
    $pdo->rollBack();
    got($pdo->query(NEXT)->fetchColumn());
    $replace = $pdo = null;
}

mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);
for ($n = 0; $n < 2; $n++) {
    $db = new mysqli('p:127.0.0.1', $user, $password, 'ids', (int) $port);
    $db->query("REPLACE INTO tickets (stub) VALUES ('a')");
    got($db->insert_id, 'tickets');
    $prepared = $db->prepare(TICKET);
    for ($m = 0; $m < 3; $m++) {
        $prepared->execute(['a']);
        got($prepared->insert_id, 'tickets');
    }
    $prepared->close();
    $prepared = $db->prepare(NEXT);
    for ($m = 0; $m < 3; $m++) {
        $prepared->execute();
        got($prepared->get_result()->fetch_row()[0]);
    }
    $prepared->close();
    $db->multi_query(NEXT . '; ' . NEXT);
    do {
        got($db->store_result()->fetch_row()[0]);
    } while ($db->next_result());
    try {
        $db->query('SELECT NEXTVAL(nosuch)');
        check(false, 'was answered');
    } catch (mysqli_sql_exception $error) {
        check($error->getCode() === 4091 && $error->getSqlState() === '42S02', $error->getMessage());
    }
    $db->change_user($user, $password, 'ids');
    check($db->query('SELECT LASTVAL(orders)')->fetch_row()[0] === null, 'LASTVAL');
    got($db->query(NEXT)->fetch_row()[0]);
    check(is_string($db->stat()), 'stat');
    $db->close();
}
echo "ok\n";
