import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * What applications do by JDBC, once for each URL: JdbcClient TYPE_OF_TEXT TYPE_OF_BYTES SLEEP USER PASSWORD URL...
 *
 * For each URL prints one line, "MD5 rows=N error=SQLSTATE cancelled"; ends with a stack trace and 1 when what was read is not what
 * was written. Where TYPE_OF_BYTES is "text", bytes are written as hexadecimal digits: not every driver can bind bytes in every mode.
 */
public final class JdbcClient {
    private static final int ROWS = 800;
    private static final int FETCH = 100;

    public static void main(String[] arguments) throws Exception {
        String text = arguments[0];
        String bytes = arguments[1];
        String sleep = arguments[2];
        Properties login = new Properties();
        login.setProperty("user", arguments[3]);
        login.setProperty("password", arguments[4]);
        int number = 0;
        for (String url : Arrays.copyOfRange(arguments, 5, arguments.length)) {
            try (Connection connection = DriverManager.getConnection(url, login)) {
                String table = "jdbc_" + ProcessHandle.current().pid() + "_" + number++;
                write(connection, table, text, bytes);
                String digest = read(connection, table, bytes.equals("text"));
                String error = errorOf(connection);
                cancel(connection, sleep);
                // The connection is still good after an error and a cancelled statement.
                try (Statement statement = connection.createStatement()) {
                    statement.execute("drop table " + table);
                }
                connection.commit();
                System.out.println(digest + " error=" + error + " cancelled");
            }
        }
    }

    private static void write(Connection connection, String table, String text, String bytes) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table " + table + " (id int primary key, name " + text + ", amount decimal(12,2), "
                + "at timestamp, body " + bytes + ")");
        }
        String insert = "insert into " + table + " values (?, ?, ?, ?, ?)";
        try (PreparedStatement statement = connection.prepareStatement(insert)) {
            for (int id = 0; id < ROWS; id++) {
                statement.setInt(1, id);
                statement.setString(2, name(id));
                statement.setBigDecimal(3, java.math.BigDecimal.valueOf(id * 7L, 2));
                statement.setTimestamp(4, new Timestamp(1_700_000_000_000L + id * 1000L));
                byte[] body = body(id);
                if (bytes.equals("text")) statement.setString(5, body == null ? null : HexFormat.of().formatHex(body));
                else if (body == null) statement.setNull(5, java.sql.Types.BINARY);
                else statement.setBytes(5, body);
                statement.addBatch();
                if (id % 200 == 199) statement.executeBatch();
            }
        }
        connection.commit();
    }

    private static String read(Connection connection, String table, boolean digits) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("MD5");
        int rows = 0;
        try (PreparedStatement statement = connection.prepareStatement("select * from " + table + " order by id")) {
            statement.setFetchSize(FETCH);
            try (ResultSet result = statement.executeQuery()) {
                for (; result.next(); rows++) {
                    int id = result.getInt(1);
                    byte[] body = digits ? parsed(result.getString(5)) : result.getBytes(5);
                    if (id != rows || !name(id).equals(result.getString(2)) || !Arrays.equals(body, body(id))) {
                        throw new IllegalStateException("row " + rows + " is not what was written");
                    }
                    for (int column = 1; column <= 4; column++) {
                        digest.update(result.getString(column).getBytes(StandardCharsets.UTF_8));
                    }
                    if (body != null) digest.update(body);
                }
            }
        }
        connection.commit();
        if (rows != ROWS) throw new IllegalStateException(rows + " rows instead of " + ROWS);
        return HexFormat.of().formatHex(digest.digest()) + " rows=" + rows;
    }

    private static String errorOf(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery("select * from no_such_table");
            return "none";
        } catch (SQLException error) {
            connection.rollback();
            return error.getSQLState();
        }
    }

    private static byte[] parsed(String digits) {
        return digits == null ? null : HexFormat.of().parseHex(digits);
    }

    /**
     * Cancels a statement that would take minutes: drivers ask for it over a connection of its own. Again and again, since one that comes before the
     * statement does nothing; not any more once it has ended.
     */
    private static void cancel(Connection connection, String sleep) throws Exception {
        long begun = System.nanoTime();
        try (Statement statement = connection.createStatement()) {
            CountDownLatch ended = new CountDownLatch(1);
            Thread canceller = new Thread(() -> {
                try {
                    while (!ended.await(100, TimeUnit.MILLISECONDS)) statement.cancel();
                } catch (Exception error) {
                    error.printStackTrace();
                }
            });
            canceller.start();
            boolean cancelled = false;
            try {
                statement.executeQuery(sleep).close();
            } catch (SQLException expected) {
                cancelled = true;
            }
            ended.countDown();
            canceller.join();
            if (cancelled) connection.rollback();
        }
        if (System.nanoTime() - begun > 60_000_000_000L) throw new IllegalStateException("the statement was not cancelled");
    }

    private static String name(int id) {
        return "row " + id + " of a table, Z\u00fcrich, \u6570\u636e\u5e93, " + "text that repeats ".repeat(id % 5);
    }

    /** Nothing, random bytes or text, of lengths from none to some hundreds of thousands. */
    private static byte[] body(int id) {
        if (id % 7 == 0) return null;
        int length = id == 701 ? 300_000 : id % 11 * 40;
        if (id % 2 == 0) return "a body of words ".repeat(length / 16).getBytes(StandardCharsets.UTF_8);
        byte[] random = new byte[length];
        new Random(id).nextBytes(random);
        return random;
    }
}
