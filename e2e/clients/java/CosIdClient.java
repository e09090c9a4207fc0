import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import me.ahoo.cosid.machine.AbstractMachineIdDistributor;
import me.ahoo.cosid.machine.ClockBackwardsSynchronizer;
import me.ahoo.cosid.machine.DefaultMachineIdGuarder;
import me.ahoo.cosid.machine.InMemoryMachineStateStorage;
import me.ahoo.cosid.machine.InstanceId;
import me.ahoo.cosid.machine.MachineIdDistributor;
import me.ahoo.cosid.machine.MachineIdLostException;
import me.ahoo.cosid.machine.MachineIdOverflowException;
import me.ahoo.cosid.machine.MachineState;
import me.ahoo.cosid.segment.IdSegmentDistributor;
import me.ahoo.cosid.segment.IdSegmentDistributorDefinition;
import me.ahoo.cosid.segment.SegmentChainId;
import me.ahoo.cosid.snowflake.MillisecondSnowflakeId;
import me.ahoo.cosid.spring.redis.SpringRedisIdSegmentDistributorFactory;
import me.ahoo.cosid.spring.redis.SpringRedisMachineIdDistributor;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * CosId's SegmentChainId, MillisecondSnowflakeId and DefaultMachineIdGuarder over a server: WAY PORT. By the way
 * `redis` its distributors of Spring Data Redis and Lettuce, with the scripts of their jar; by `proxy` the requests of
 * its proxy's client, whose jar is not in the public repository. Prints every id, over servers that go and come back.
 */
public class CosIdClient {
    private static final int THREADS = 2;
    private static final int SEGMENT_IDS = 5_000;
    private static final int INSTANCES = 3;
    private static final int SNOWFLAKES = 1_500;
    private static final Duration SAFE = Duration.ofMinutes(5);

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[1]);
        boolean overRedis = arguments[0].equals("redis");
        StringRedisTemplate redis = overRedis ? redis(port) : null;
        String url = "http://127.0.0.1:" + port;
        IdSegmentDistributor segments = overRedis ? segments(redis) : new Segments(url);
        SegmentChainId chain = new SegmentChainId(segments);
        Thread[] threads = new Thread[THREADS + INSTANCES];
        Throwable[] failed = new Throwable[1];
        Set<Integer> numbers = new HashSet<>();
        for (int at = 0; at < threads.length; at++) {
            int number = at;
            threads[at] = new Thread(() -> {
                try {
                    if (number < THREADS) {
                        print(chain::generate, SEGMENT_IDS);
                    } else {
                        instance(overRedis, redis, url, number - THREADS, numbers);
                    }
                } catch (Throwable failure) {
                    failed[0] = failure;
                }
            });
            threads[at].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        check(failed[0] == null, failed[0]);
        check(numbers.size() == INSTANCES, numbers);
        overflows(machines(overRedis, redis, url));
        System.err.println("ok");
        System.exit(0);
    }

    /** An instance that guards its number and makes ids of it. */
    private static void instance(boolean overRedis, StringRedisTemplate redis, String url, int at, Set<Integer> numbers)
        throws Exception {
        MachineIdDistributor machines = machines(overRedis, redis, url);
        InstanceId instance = InstanceId.of("10.0.0." + at, 8080, false);
        int number = again(() -> machines.distribute("dev", 10, instance, SAFE).getMachineId());
        synchronized (numbers) {
            check(numbers.add(number), "two have number " + number);
        }
        Duration often = Duration.ofMillis(50);
        DefaultMachineIdGuarder guarder = new DefaultMachineIdGuarder(
            machines, DefaultMachineIdGuarder.executorService(), often, often, SAFE);
        guarder.register("dev", instance);
        guarder.start();
        MillisecondSnowflakeId ids = new MillisecondSnowflakeId(number);
        print(ids::generate, SNOWFLAKES);
        guarder.stop();
        again(() -> {
            machines.guard("dev", instance, SAFE);
            return 0;
        });
        // A process that has forgotten its number is told it again.
        MachineIdDistributor restarted = machines(overRedis, redis, url);
        int same = again(() -> restarted.distribute("dev", 10, instance, SAFE).getMachineId());
        check(same == number, same + " after " + number);
        restarted.revert("dev", instance);
    }

    /** Whoever is one too many is told so in an exception of CosId. */
    private static void overflows(MachineIdDistributor machines) throws Exception {
        for (int at = 0; at < 2; at++) {
            InstanceId instance = InstanceId.of("full", at, true);
            int number = again(() -> machines.distribute("full", 1, instance, SAFE).getMachineId());
            check(number == at, number);
        }
        try {
            machines.distribute("full", 1, InstanceId.of("full", 2, true), SAFE);
            check(false, "a third has a number of one bit");
        } catch (MachineIdOverflowException refused) {
            check(refused.getMessage().contains("full:2"), refused);
        }
    }

    private static StringRedisTemplate redis(int port) {
        LettuceConnectionFactory factory = new LettuceConnectionFactory("127.0.0.1", port);
        factory.afterPropertiesSet();
        factory.start();
        return new StringRedisTemplate(factory);
    }

    private static IdSegmentDistributor segments(StringRedisTemplate redis) {
        return new SpringRedisIdSegmentDistributorFactory(redis)
            .create(new IdSegmentDistributorDefinition("shop", "orders", 500, 10));
    }

    private static MachineIdDistributor machines(boolean overRedis, StringRedisTemplate redis, String url) {
        InMemoryMachineStateStorage own = new InMemoryMachineStateStorage();
        return overRedis
            ? new SpringRedisMachineIdDistributor(redis, own, ClockBackwardsSynchronizer.DEFAULT)
            : new Machines(url, own);
    }

    private static void print(Callable<Long> ids, int count) throws Exception {
        for (int at = 0; at < count; at++) {
            long id = again(ids);
            System.out.println(id);
            if (at % 10 == 0) {
                Thread.sleep(1);
            }
        }
    }

    /** As often as it takes. */
    private static <T> T again(Callable<T> asked) throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                return asked.call();
            } catch (Exception failure) {
                if (tries == 600) {
                    throw failure;
                }
                Thread.sleep(50);
            }
        }
    }

    private static void check(boolean holds, Object why) {
        if (!holds) {
            throw new AssertionError(why);
        }
    }

    /** What ProxyIdSegmentDistributorFactory and ProxyIdSegmentDistributor ask. */
    private static class Segments implements IdSegmentDistributor {
        private final Proxy proxy;

        Segments(String url) throws Exception {
            proxy = new Proxy(url);
            again(() -> proxy.ask("POST", "/segments/distributor/shop/orders?offset=500&step=10"));
        }

        @Override
        public String getNamespace() {
            return "shop";
        }

        @Override
        public String getName() {
            return "orders";
        }

        @Override
        public long getStep() {
            return 10;
        }

        @Override
        public long nextMaxId(long step) {
            return Long.parseLong(proxy.ask("PATCH", "/segments/shop/orders?step=" + step));
        }
    }

    /** What ProxyMachineIdDistributor asks, and the exceptions that it makes of answers. */
    private static class Machines extends AbstractMachineIdDistributor {
        private final Proxy proxy;

        Machines(String url, InMemoryMachineStateStorage own) {
            super(own, ClockBackwardsSynchronizer.DEFAULT);
            proxy = new Proxy(url);
        }

        @Override
        protected MachineState distributeRemote(String namespace, int bits, InstanceId instance, Duration safe) {
            String target = target(namespace, instance) + "&machineBit=" + bits + "&safeGuardDuration=" + safe;
            try {
                String[] parts = proxy.ask("POST", target).split("[^0-9]+");
                return MachineState.of(Integer.parseInt(parts[1]), Long.parseLong(parts[2]));
            } catch (IllegalStateException refused) {
                if (refused.getMessage().contains("\"M-01\"")) {
                    throw new MachineIdOverflowException(1 << bits, instance);
                }
                throw refused;
            }
        }

        @Override
        protected void revertRemote(String namespace, InstanceId instance, MachineState state) {
            proxy.ask("DELETE", target(namespace, instance));
        }

        @Override
        protected void guardRemote(String namespace, InstanceId instance, MachineState state, Duration safe) {
            try {
                proxy.ask("PATCH", target(namespace, instance) + "&safeGuardDuration=" + safe);
            } catch (IllegalStateException refused) {
                if (refused.getMessage().contains("\"M-03\"")) {
                    throw new MachineIdLostException(namespace, instance, state);
                }
                throw refused;
            }
        }

        private static String target(String namespace, InstanceId instance) {
            String name = URLEncoder.encode(instance.getInstanceId(), StandardCharsets.UTF_8);
            return "/machines/" + namespace + "?instanceId=" + name + "&stable=" + instance.isStable();
        }
    }

    /** A request and the body of its answer. */
    private record Proxy(String url, HttpClient client) {
        Proxy(String url) {
            this(url, HttpClient.newHttpClient());
        }

        String ask(String method, String target) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url + target))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .timeout(Duration.ofSeconds(20))
                .build();
            try {
                HttpResponse<String> answer = client.send(request, HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() != 200) {
                    throw new IllegalStateException(answer.body());
                }
                return answer.body();
            } catch (java.io.IOException | InterruptedException failure) {
                throw new java.io.UncheckedIOException(new java.io.IOException(failure));
            }
        }
    }
}
