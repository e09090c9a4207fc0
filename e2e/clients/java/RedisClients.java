import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;

/**
 * Lettuce and Jedis over a server's Redis protocol: PORT. Single numbers, runs, a pipeline, a transaction and a script,
 * over servers that go and come back. Prints every id.
 */
public class RedisClients {
    private static final int ROUNDS = 150;
    private static final String RUN = "return redis.call('incrby', KEYS[1], ARGV[1])";

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        Thread[] threads = {new Thread(() -> lettuce(port)), new Thread(() -> jedis(port))};
        Throwable[] failed = new Throwable[1];
        for (Thread thread : threads) {
            thread.setUncaughtExceptionHandler((of, failure) -> failed[0] = failure);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        check(failed[0] == null, failed[0]);
        System.exit(0);
    }

    /** One connection, which comes back by itself. */
    private static void lettuce(int port) {
        RedisClient client = RedisClient.create(RedisURI.builder().withHost("127.0.0.1").withPort(port)
            .withTimeout(Duration.ofSeconds(5)).build());
        RedisCommands<String, String> redis = again(() -> client.connect().sync());
        for (int round = 0; round < ROUNDS; round++) {
            tell(again(() -> redis.incr("orders")), 1);
            tell(again(() -> redis.incrby("orders", 20)), 20);
            tell(again(() -> redis.<Long>eval(RUN, ScriptOutputType.INTEGER, new String[] {"orders"}, "3")), 3);
            String last = again(() -> redis.get("orders"));
            check(Long.parseLong(last) > 0, last);
        }
        client.shutdown();
    }

    /** A connection for each round. */
    private static void jedis(int port) {
        for (int round = 0; round < ROUNDS; round++) {
            again(() -> {
                try (Jedis redis = new Jedis("127.0.0.1", port, 5000)) {
                    tell(redis.incr("orders"), 1);
                    tell(redis.incrBy("orders", 20), 20);
                    Pipeline pipeline = redis.pipelined();
                    List<Response<Long>> numbers = List.of(pipeline.incr("orders"), pipeline.incr("orders"));
                    pipeline.sync();
                    numbers.forEach(number -> tell(number.get(), 1));
                    Transaction transaction = redis.multi();
                    transaction.incr("orders");
                    transaction.incrBy("orders", 4);
                    List<Object> both = transaction.exec();
                    tell((Long) both.get(0), 1);
                    tell((Long) both.get(1), 4);
                    tell((Long) redis.evalsha(redis.scriptLoad(RUN), List.of("orders"), List.of("3")), 3);
                    return 0;
                }
            });
        }
    }

    /** As often as it takes. A number that was taken for an answer that nobody read is a gap. */
    private static <T> T again(Callable<T> asked) {
        for (int tries = 0; ; tries++) {
            try {
                return asked.call();
            } catch (Exception failure) {
                if (tries == 600) {
                    throw new IllegalStateException(failure);
                }
                pause();
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(50);
        } catch (InterruptedException never) {
            throw new IllegalStateException(never);
        }
    }

    /** The numbers of a run that ends with `last`. */
    private static void tell(long last, int count) {
        StringBuilder ids = new StringBuilder();
        for (long id = last - count + 1; id <= last; id++) {
            ids.append(id).append('\n');
        }
        System.out.print(ids);
        System.out.flush();
    }

    private static void check(boolean holds, Object why) {
        if (!holds) {
            throw new AssertionError(why);
        }
    }
}
