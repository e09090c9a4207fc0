import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;

/**
 * The stock JDBC driver of MariaDB: PORT USER PASSWORD. Both protocols, generated keys, batches, HikariCP. Prints each
 * number as `NAME NUMBER`, and `ok`.
 */
public class JdbcMariadb {
    private static final String NEXT = "SELECT NEXTVAL(orders)";
    private static long orders;
    private static long tickets;

    public static void main(String[] arguments) throws SQLException {
        String url = "jdbc:mariadb://127.0.0.1:" + arguments[0] + "/ids";
        for (String options : new String[] {"?useServerPrepStmts=true", "?useServerPrepStmts=false&allowMultiQueries=true"}) {
            try (Connection connection = DriverManager.getConnection(url + options, arguments[1], arguments[2])) {
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
                    order(one(connection, NEXT));
                }
            }
        }
        System.out.println("ok");
    }

    private static void alone(Connection connection) throws SQLException {
        String ticket = "REPLACE INTO tickets (stub) VALUES (?)";
        try (PreparedStatement replace = connection.prepareStatement(ticket, Statement.RETURN_GENERATED_KEYS)) {
            for (int at = 0; at < 5; at++) {
                replace.setString(1, "a");
                replace.executeUpdate();
                try (ResultSet keys = replace.getGeneratedKeys()) {
                    check(keys.next(), "no key");
                    ticket(keys.getLong(1));
                }
                check(one(connection, "SELECT LAST_INSERT_ID()") == tickets, "LAST_INSERT_ID");
            }
        }
        try (PreparedStatement next = connection.prepareStatement(NEXT)) {
            for (int at = 0; at < 5; at++) {
                try (ResultSet rows = next.executeQuery()) {
                    check(rows.next(), "no row");
                    order(rows.getLong(1));
                }
            }
        }
        check(one(connection, "SELECT LASTVAL(orders)") == orders, "LASTVAL");
        check(connection.isValid(5), "isValid");
        try {
            one(connection, "SELECT NEXTVAL(nosuch)");
            check(false, "was answered");
        } catch (SQLException refused) {
            check(refused.getErrorCode() == 4091 && refused.getSQLState().equals("42S02"), refused);
        }
        connection.setAutoCommit(false);
        order(one(connection, NEXT));
        connection.rollback();
        order(one(connection, NEXT));
        connection.commit();
        connection.setAutoCommit(true);
        connection.setReadOnly(true);
        connection.setReadOnly(false);
        check(connection.getTransactionIsolation() == Connection.TRANSACTION_REPEATABLE_READ, "isolation");
        check(connection.getMetaData().getDatabaseProductName().equals("MariaDB"), "product");
        order(one(connection, NEXT));
    }

    private static long one(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(query)) {
            check(rows.next(), "no row");
            return rows.getLong(1);
        }
    }

    private static void order(long number) {
        check(number > orders, number + " after " + orders);
        orders = number;
        System.out.println("orders " + number);
    }

    private static void ticket(long number) {
        check(number > tickets, number + " after " + tickets);
        tickets = number;
        System.out.println("tickets " + number);
    }

    private static void check(boolean holds, Object what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
