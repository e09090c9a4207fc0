import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLIntegrityConstraintViolationException;

/**
 * Libraries that count in tables of their own, statement by statement as they send them: CosId's JdbcIdSegmentDistributor
 * and JdbcMachineIdDistributor, and Leaf's SegmentIDGenImpl. PORT USER PASSWORD. Prints each run that a client reckons as
 * `NAME FIRST LAST`, through servers that go and come back, and `ok`.
 */
public class LibraryTables {
    private static final int ROUNDS = 100;
    private static final int TRIES = 3000;
    private static String url;
    private static String[] login;

    /** What is done with a connection. */
    interface Work<T> {
        T with(Connection connection) throws SQLException;
    }

    public static void main(String[] arguments) throws Exception {
        url = "jdbc:mariadb://127.0.0.1:" + arguments[0] + "/ids?connectTimeout=2000&socketTimeout=10000&useServerPrepStmts=";
        login = arguments;
        make();
        Thread[] threads = new Thread[4];
        Throwable[] failed = new Throwable[1];
        for (int at = 0; at < threads.length; at++) {
            int number = at;
            threads[at] = new Thread(() -> {
                try {
                    take("i" + number, number % 2 == 0);
                } catch (Throwable failure) {
                    failed[0] = failure;
                }
            });
            threads[at].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failed[0] != null) {
            throw new AssertionError(failed[0]);
        }
        System.out.println("ok");
    }

    /** What the libraries, and whoever installs Leaf, make of the tables. */
    private static void make() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url + "true", login[1], login[2])) {
            update(connection, "create table if not exists cosid\n(\n    name varchar(100) not null comment"
                + " '{namespace}.{name}',\n    last_max_id bigint unsigned not null default 0,\n    last_fetch_time"
                + " bigint unsigned not null default 0,\n    constraint cosid_pk\n        primary key (name)\n)"
                + " engine = InnoDB;");
            update(connection, "CREATE TABLE IF NOT EXISTS `leaf_alloc` (`biz_tag` varchar(128) NOT NULL DEFAULT '',"
                + " `max_id` bigint(20) NOT NULL DEFAULT '1', `step` int(11) NOT NULL, PRIMARY KEY (`biz_tag`))");
            String segment = "insert into cosid (name, last_max_id,last_fetch_time) value (?, ?,unix_timestamp());";
            check(update(connection, segment, "shop.orders", 5000L) == 1, "no row");
            try {
                update(connection, segment, "shop.orders", 0L);
                check(false, "made twice");
            } catch (SQLIntegrityConstraintViolationException known) {
                check(known.getErrorCode() == 1062, known);
            }
            check(update(connection, "INSERT INTO leaf_alloc(biz_tag, max_id, step) VALUES('orders', 1, 1000)") == 1, "no tag");
        }
    }

    private static void take(String instance, boolean byServer) throws Exception {
        long machine = again(byServer, connection -> lease(connection, instance));
        tell("machine", machine, machine);
        for (int round = 0; round < ROUNDS; round++) {
            long step = 50 + round;
            long last = again(byServer, connection -> segment(connection, step));
            tell("cosid", last - step + 1, last);
            long custom = round % 3 == 0 ? 0 : 500 + round;
            long[] leaf = again(byServer, connection -> alloc(connection, custom));
            long taken = custom == 0 ? leaf[1] : custom;
            tell("leaf", leaf[0] - taken, leaf[0] - 1);
            if (round % 10 == 0) {
                check(again(byServer, connection -> guard(connection, instance, machine)) == 1, "the machine was lost");
            }
        }
    }

    /** JdbcIdSegmentDistributor.nextMaxId. */
    private static long segment(Connection connection, long step) throws SQLException {
        connection.setAutoCommit(false);
        String add = "update cosid set last_max_id=(last_max_id + ?),last_fetch_time=unix_timestamp() where name = ?;";
        check(update(connection, add, step, "shop.orders") == 1, "no row");
        long last = row(connection, "select last_max_id from cosid where name = ?;", 1, "shop.orders")[0];
        connection.commit();
        return last;
    }

    /** IDAllocDaoImpl: by the tag's step where `custom` is 0. */
    private static long[] alloc(Connection connection, long custom) throws SQLException {
        connection.setAutoCommit(false);
        int rows = custom == 0
            ? update(connection, "UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = ?", "orders")
            : update(connection, "UPDATE leaf_alloc SET max_id = max_id + ? WHERE biz_tag = ?", custom, "orders");
        check(rows == 1, "no tag");
        long[] row = row(connection, "SELECT max_id, step, biz_tag FROM leaf_alloc WHERE biz_tag = ?", 2, "orders");
        connection.commit();
        return row;
    }

    /** JdbcMachineIdDistributor.distributeBySelf. */
    private static long lease(Connection connection, String instance) throws SQLException {
        String get = "select machine_id, last_timestamp from cosid_machine where namespace=? and instance_id=? and"
            + " last_timestamp>?";
        long machine = row(connection, get, 2, "dev", instance, System.currentTimeMillis() - 300_000)[0];
        check(guard(connection, instance, machine) == 1, "not leased");
        return machine;
    }

    private static int guard(Connection connection, String instance, long machine) throws SQLException {
        return update(connection, "update cosid_machine set last_timestamp=? where namespace=? and instance_id=? and"
            + " machine_id=?", System.currentTimeMillis(), "dev", instance, machine);
    }

    /** As often as it takes, each time by a new connection. */
    private static <T> T again(boolean byServer, Work<T> work) throws Exception {
        for (int tries = 0; ; tries++) {
            try (Connection connection = DriverManager.getConnection(url + byServer, login[1], login[2])) {
                return work.with(connection);
            } catch (SQLException failure) {
                if (tries == TRIES) {
                    throw failure;
                }
                Thread.sleep(20);
            }
        }
    }

    private static int update(Connection connection, String text, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            set(statement, values);
            return statement.executeUpdate();
        }
    }

    private static long[] row(Connection connection, String text, int columns, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            set(statement, values);
            try (ResultSet rows = statement.executeQuery()) {
                check(rows.next(), "no row");
                long[] row = new long[columns];
                for (int at = 0; at < columns; at++) {
                    row[at] = rows.getLong(at + 1);
                }
                check(!rows.next(), "two rows");
                return row;
            }
        }
    }

    private static void set(PreparedStatement statement, Object... values) throws SQLException {
        for (int at = 0; at < values.length; at++) {
            statement.setObject(at + 1, values[at]);
        }
    }

    private static synchronized void tell(String name, long first, long last) {
        System.out.println(name + " " + first + " " + last);
    }

    private static void check(boolean holds, Object why) {
        if (!holds) {
            throw new AssertionError(why);
        }
    }
}
