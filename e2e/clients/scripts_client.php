<?php
// What stock php-redis does with scripts: evalSha, and eval where the script is not known.
// Arguments: `check PORT`, or `take PORT...`: takes numbers from these servers in turn until standard input ends, going
// on when one is away, and prints each as a line.

const NEXT = "-- the next id\nreturn redis.call('INCR', KEYS[1]);\n";
const RANGE = "local last = redis.call('incrby', KEYS[1], ARGV[1]); return {last - ARGV[1] + 1, last}";

function connected(int $port): Redis
{
    $client = new Redis();
    $client->connect('127.0.0.1', $port, 5.0);
    return $client;
}

/** evalSha; upon NOSCRIPT, eval. */
function run(Redis $client, string $script, array $arguments, int $keys): mixed
{
    $client->clearLastError();
    $reply = $client->evalSha(sha1($script), $arguments, $keys);
    $error = $client->getLastError();
    if ($error !== null && str_starts_with($error, 'NOSCRIPT')) {
        $client->clearLastError();
        $reply = $client->eval($script, $arguments, $keys);
        $error = $client->getLastError();
    }
    if ($error !== null) {
        throw new RuntimeException($error);
    }
    return $reply;
}

function same(mixed $got, mixed $want): void
{
    if ($got !== $want) {
        throw new RuntimeException(var_export($got, true) . ' is not ' . var_export($want, true));
    }
}

function check(int $port): void
{
    $client = connected($port);
    $client->script('flush');
    same($client->script('exists', sha1(NEXT), sha1(RANGE)), [0, 0]);
    for ($n = 1; $n <= 3; $n++) {
        same(run($client, NEXT, ['php'], 1), $n);
    }
    same(run($client, RANGE, ['php', 10], 1), [4, 13]);
    same($client->script('load', NEXT), sha1(NEXT));
    same($client->script('exists', sha1(NEXT), sha1(RANGE)), [1, 1]);
    $client->multi(Redis::PIPELINE);
    for ($n = 0; $n < 100; $n++) {
        $client->evalSha(sha1(NEXT), ['php'], 1);
    }
    same($client->exec(), range(14, 113));
    same($client->eval('return 1', [], 0), false);
    same(str_contains($client->getLastError(), 'runs no Lua'), true);
    echo 'php-redis ', phpversion('redis'), " ok\n";
}

function isToEnd(): bool
{
    [$read, $write, $except] = [[STDIN], null, null];
    return stream_select($read, $write, $except, 0) > 0;
}

function take(array $ports): void
{
    $clients = [];
    for ($turn = 0; !isToEnd(); $turn++) {
        $at = $turn % count($ports);
        try {
            $clients[$at] ??= connected((int) $ports[$at]);
            if ($turn % 3) {
                echo run($clients[$at], NEXT, ['taken'], 1), "\n";
                continue;
            }
            [$first, $last] = run($clients[$at], RANGE, ['taken', 5], 1);
            for ($n = $first; $n <= $last; $n++) {
                echo $n, "\n";
            }
        } catch (RedisException) {
            unset($clients[$at]);
            usleep(20000);
        } catch (RuntimeException $error) {
            if (!str_starts_with($error->getMessage(), 'TRYAGAIN')) {
                throw $error;
            }
            usleep(20000);
        }
    }
}

if ($argv[1] === 'check') {
    check((int) $argv[2]);
} else {
    take(array_slice($argv, 2));
}
