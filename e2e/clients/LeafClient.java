import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.web.client.HttpServerErrorException;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestTemplate;

/** What a stock RestTemplate does against Leaf's face: URL COUNT. Prints ids until there are COUNT or the server is gone. */
public class LeafClient {
    public static void main(String[] arguments) {
        String url = arguments[0];
        int count = Integer.parseInt(arguments[1]);
        RestTemplate rest = new RestTemplate();
        try {
            for (int at = 0; at < count; at++) {
                Long number = rest.getForObject(url + "/api/segment/get/order", Long.class);
                System.out.println("segment " + number);
                String text = rest.getForObject(url + "/api/segment/get/order", String.class);
                System.out.println("segment " + Long.parseLong(text));
                // Debian's Jackson refuses any long of 19 digits.
                String snowflake = rest.getForObject(url + "/api/snowflake/get/order", String.class);
                System.out.println("snowflake " + Long.parseLong(snowflake));
                Map<?, ?> parts = rest.getForObject(url + "/decodeSnowflakeId?snowflakeId=" + snowflake, Map.class);
                check(parts.size() == 3 && parts.get("workerId") instanceof String, parts);
                check(((String) parts.get("timestamp")).matches("\\d{13}\\(.{23}\\)"), parts);
                System.out.flush();
            }
            try {
                rest.getForObject(url + "/api/segment/get/nothing", Long.class);
                check(false, "an unknown key has a number");
            } catch (HttpServerErrorException refused) {
                check(refused.getStatusCode() == HttpStatus.INTERNAL_SERVER_ERROR, refused);
                String body = refused.getResponseBodyAsString();
                check(body.contains("\"message\":\"Result{id=-2, status=EXCEPTION}\""), body);
            }
        } catch (ResourceAccessException gone) {
            System.err.println("gone");
        }
    }

    private static void check(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
