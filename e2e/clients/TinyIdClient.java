import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URL;
import java.util.Random;

/** Segments of tinyid through the JDK's own HTTP client: the arguments are ports of servers over one store. */
public class TinyIdClient {
    static final int SEGMENTS = 60;

    public static void main(String[] ports) throws Exception {
        Random random = new Random();
        for (int i = 0; i < SEGMENTS; i++) {
            String[] parts = patiently(ports[random.nextInt(ports.length)]).split(",");
            long current = Long.parseLong(parts[0]), last = Long.parseLong(parts[2]);
            long delta = Long.parseLong(parts[3]);
            StringBuilder ids = new StringBuilder();
            for (long id = current + delta; id <= last; id += delta) {
                ids.append(id).append('\n');
            }
            System.out.print(ids);
            System.out.flush();
        }
    }

    static String patiently(String port) throws InterruptedException {
        for (int i = 0; i < 400; i++) {
            try {
                String text = segment(port);
                if (!text.isEmpty()) {
                    return text;
                }
            } catch (IOException refused) {
                // It was killed, or is not there yet.
            }
            Thread.sleep(50);
        }
        throw new IllegalStateException("no segment");
    }

    static String segment(String port) throws IOException {
        URL url = new URL("http://127.0.0.1:" + port + "/tinyid/id/nextSegmentIdSimple?token=any&bizType=orders");
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        connection.setRequestMethod("POST");
        connection.setConnectTimeout(5000);
        connection.setReadTimeout(20000);
        connection.setDoOutput(true);
        connection.getOutputStream().close();
        try (BufferedReader in = new BufferedReader(new InputStreamReader(connection.getInputStream()))) {
            StringBuilder all = new StringBuilder();
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                all.append(line);
            }
            return all.toString();
        }
    }
}
