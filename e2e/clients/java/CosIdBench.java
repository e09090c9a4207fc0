import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.atomic.AtomicLong;
import me.ahoo.cosid.segment.DefaultSegmentId;
import me.ahoo.cosid.segment.IdSegmentDistributor;
import me.ahoo.cosid.segment.IdSegmentDistributorDefinition;
import me.ahoo.cosid.segment.SegmentChainId;
import me.ahoo.cosid.segment.SegmentId;
import me.ahoo.cosid.spring.redis.SpringRedisIdSegmentDistributorFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;

/**
 * A generator of CosId at full speed, its SegmentChainId or its DefaultSegmentId: CLASS STEP THREADS ROUNDS WAY:PORT… By
 * the way `redis` its distributor of Spring Data Redis over Lettuce, by `proxy` the requests of its proxy's client. In
 * each round the threads ask one server after the other for a moment, so that all have the same machine. Prints for each
 * moment `IDS NANOSECONDS`, but for those in which the machine compiles the program.
 */
public class CosIdBench {
    private static final int SOME = 1000;
    private static final int WARM_ROUNDS = 8;
    private static final long MOMENT_MS = 250;
    private static volatile int turn;

    public static void main(String[] arguments) throws Exception {
        long step = Long.parseLong(arguments[1]);
        int rounds = Integer.parseInt(arguments[3]);
        SegmentId[] sides = new SegmentId[arguments.length - 4];
        for (int at = 0; at < sides.length; at++) {
            String[] side = arguments[at + 4].split(":");
            int port = Integer.parseInt(side[1]);
            String name = "bench-" + step + "-" + at + "-" + System.nanoTime();
            IdSegmentDistributor from =
                side[0].equals("redis") ? overRedis(port, name, step) : new OverProxy(port, name, step);
            sides[at] = arguments[0].equals("SegmentChainId") ? new SegmentChainId(from) : new DefaultSegmentId(from);
        }
        AtomicLong[] made = new AtomicLong[Integer.parseInt(arguments[2])];
        for (int at = 0; at < made.length; at++) {
            AtomicLong own = made[at] = new AtomicLong();
            Thread thread = new Thread(() -> {
                while (true) {
                    SegmentId asked = sides[turn];
                    for (int id = 0; id < SOME; id++) {
                        asked.generate();
                    }
                    own.lazySet(own.get() + SOME);
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        for (int round = -WARM_ROUNDS; round < rounds; round++) {
            for (int side = 0; side < sides.length; side++) {
                turn = side;
                long before = sum(made), began = System.nanoTime();
                Thread.sleep(MOMENT_MS);
                long ids = sum(made) - before, took = System.nanoTime() - began;
                if (round >= 0) {
                    System.out.println(ids + " " + took);
                }
            }
        }
        System.exit(0);
    }

    private static long sum(AtomicLong[] made) {
        long all = 0;
        for (AtomicLong one : made) {
            all += one.get();
        }
        return all;
    }

    private static IdSegmentDistributor overRedis(int port, String name, long step) {
        LettuceConnectionFactory factory = new LettuceConnectionFactory("127.0.0.1", port);
        factory.afterPropertiesSet();
        factory.start();
        return new SpringRedisIdSegmentDistributorFactory(new StringRedisTemplate(factory))
            .create(new IdSegmentDistributorDefinition("bench", name, 0, step));
    }

    /** What ProxyIdSegmentDistributor asks. */
    private static class OverProxy implements IdSegmentDistributor {
        private final HttpClient client = HttpClient.newHttpClient();
        private final String url;
        private final String name;
        private final long step;

        OverProxy(int port, String name, long step) {
            this.url = "http://127.0.0.1:" + port + "/segments/bench/" + name + "?step=";
            this.name = name;
            this.step = step;
        }

        @Override
        public String getNamespace() {
            return "bench";
        }

        @Override
        public String getName() {
            return name;
        }

        @Override
        public long getStep() {
            return step;
        }

        @Override
        public long nextMaxId(long step) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url + step))
                .method("PATCH", HttpRequest.BodyPublishers.noBody())
                .build();
            try {
                return Long.parseLong(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
            } catch (java.io.IOException | InterruptedException failure) {
                throw new IllegalStateException(failure);
            }
        }
    }
}
