<?php
// Numbers of idgo through stock php-redis: the arguments are ports of servers over one store. Prints every number.

const EACH = 2500;

function patiently(int $port, callable $ask)
{
    static $clients = [];
    for ($tries = 0; ; $tries++) {
        try {
            if (!isset($clients[$port])) {
                $clients[$port] = new Redis();
                $clients[$port]->connect('127.0.0.1', $port, 20);
                $clients[$port]->select(2);
            }
            $answer = $ask($clients[$port]);
            if ($answer !== false) {
                return $answer;
            }
        } catch (RedisException $refused) {
            if ($tries >= 400) {
                throw $refused;
            }
        }
        unset($clients[$port]);
        usleep(50000);
    }
}

$ports = array_map('intval', array_slice($argv, 1));
patiently($ports[0], fn($redis) => $redis->set('orders', '0'));
for ($at = 0; $at < EACH; $at++) {
    foreach ($ports as $port) {
        echo patiently($port, fn($redis) => $redis->get('orders')), "\n";
    }
}
