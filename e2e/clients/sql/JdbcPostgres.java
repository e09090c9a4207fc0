import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.Properties;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

/**
 * The stock JDBC driver of PostgreSQL: PORT USER PASSWORD. Prepared statements become named and binary with the fifth use;
 * each mode of queries; fetch sizes; HikariCP. Prints each number as `orders NUMBER`, and `ok`.
 */
public class JdbcPostgres {
    private static final String NEXT = "SELECT nextval('orders')";
    private static long last;

    public static void main(String[] arguments) throws SQLException {
        String url = "jdbc:postgresql://127.0.0.1:" + arguments[0] + "/ids";
        for (String mode : new String[] {"extended", "extendedForPrepared", "extendedCacheEverything", "simple"}) {
            Properties settings = new Properties();
            settings.setProperty("user", arguments[1]);
            settings.setProperty("password", arguments[2]);
            settings.setProperty("preferQueryMode", mode);
            try (Connection connection = DriverManager.getConnection(url, settings)) {
                alone(connection);
            }
        }
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setUsername(arguments[1]);
        config.setPassword(arguments[2]);
        config.setMaximumPoolSize(2);
        try (HikariDataSource pool = new HikariDataSource(config)) {
            for (int at = 0; at < 5; at++) {
                try (Connection connection = pool.getConnection()) {
                    got(one(connection, NEXT));
                }
            }
        }
        System.out.println("ok");
    }

    private static void alone(Connection connection) throws SQLException {
        got(one(connection, NEXT));
        try (PreparedStatement prepared = connection.prepareStatement("SELECT nextval(?)")) {
            for (int at = 0; at < 8; at++) {
                prepared.setString(1, "orders");
                try (ResultSet rows = prepared.executeQuery()) {
                    check(rows.next(), "no row");
                    got(rows.getLong(1));
                }
            }
        }
        check(one(connection, "SELECT currval('orders')") == last, "currval");
        check(connection.isValid(5), "isValid");
        refused(connection, "SELECT nextval('nosuch')", "42P01");
        got(one(connection, NEXT));

        connection.setAutoCommit(false);
        got(one(connection, NEXT));
        Savepoint before = connection.setSavepoint();
        refused(connection, "SELECT nextval('nosuch')", "42P01");
        refused(connection, NEXT, "25P02");
        connection.rollback(before);
        got(one(connection, NEXT));
        connection.commit();
        try (PreparedStatement many = connection.prepareStatement("SELECT nextval('orders') FROM generate_series(1, ?)")) {
            many.setInt(1, 7);
            many.setFetchSize(3);
            for (int at = 0; at < 6; at++) {
                try (ResultSet rows = many.executeQuery()) {
                    while (rows.next()) {
                        got(rows.getLong("nextval"));
                    }
                }
            }
        }
        connection.rollback();
        connection.setReadOnly(true);
        refused(connection, NEXT, "25006");
        connection.rollback();
        connection.setReadOnly(false);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        check(connection.getTransactionIsolation() == Connection.TRANSACTION_SERIALIZABLE, "isolation");
        got(one(connection, NEXT));
        connection.commit();
        connection.setAutoCommit(true);
        long taken = one(connection, NEXT);
        check(one(connection, "SELECT lastval()") == taken, "lastval");
        got(taken);
    }

    private static long one(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            check(rows.next(), "no row");
            return rows.getLong(1);
        }
    }

    private static void refused(Connection connection, String query, String state) throws SQLException {
        try {
            one(connection, query);
        } catch (SQLException refused) {
            check(refused.getSQLState().equals(state), refused);
            return;
        }
        check(false, query + " was answered");
    }

    private static void got(long number) {
        check(number > last, number + " after " + last);
        last = number;
        System.out.println("orders " + number);
    }

    private static void check(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
