import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;

/** Derby's server, until its standard input ends; or a client that does many things and prints the rows each gave. */
public class DerbySession {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("serve")) {
            serve(arguments[1]);
        } else {
            work("jdbc:derby://127.0.0.1:" + arguments[1] + "/shop;create=true");
        }
    }

    /** The server by its name: the jars name each other, so that nothing compiles against them without warnings. */
    private static void serve(String port) throws Exception {
        Thread end = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    Thread.onSpinWait();
                }
            } catch (java.io.IOException closed) {
                System.err.println(closed);
            }
            System.exit(0);
        });
        end.setDaemon(true);
        end.start();
        String[] arguments = {"start", "-h", "127.0.0.1", "-p", port, "-noSecurityManager"};
        Class<?> server = Class.forName("org.apache.derby.drda.NetworkServerControl");
        server.getMethod("main", String[].class).invoke(null, (Object) arguments);
    }

    private static void work(String url) throws SQLException {
        String user = "lwuser";
        String password = "pass-word-7";
        try (Connection connection = DriverManager.getConnection(url, user, password)) {
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.execute("create table kinds (id int not null primary key, s smallint, b bigint, f double, r real,"
                    + " d decimal(31,5), c char(7), v varchar(400), l long varchar, k date, m time, t timestamp, y boolean,"
                    + " x varchar(50) for bit data, z char(4) for bit data)");
            }
            insert(connection);
            query(connection, "all", "select * from kinds order by id", 0);
            query(connection, "some", "select id, v from kinds where id < 7", 0);
            query(connection, "none", "select id, d from kinds where id < 0", 0);
            query(connection, "few", "select c, y, z from kinds", 3);
            try (Statement statement = connection.createStatement()) {
                System.out.println("changed " + statement.executeUpdate("update kinds set v = 'short' where id < 25"));
                try {
                    statement.executeQuery("select * from missing");
                } catch (SQLException expected) {
                    System.out.println("state " + expected.getSQLState());
                }
            }
            connection.rollback();
        }
    }

    private static void insert(Connection connection) throws SQLException {
        String places = "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?";
        try (PreparedStatement insert = connection.prepareStatement("insert into kinds values (" + places + ")")) {
            for (int id = 0; id < 300; id++) {
                boolean empty = id % 3 == 0;
                insert.setInt(1, id);
                Object[] values = {
                    (short) id, (long) id << 33, id / 7.0, id / 7.0f, new java.math.BigDecimal("-12345678901234567890.12345"),
                    "c" + id, "v".repeat(id), "l".repeat(id * 3 % 200), java.sql.Date.valueOf("2024-02-29"),
                    java.sql.Time.valueOf("23:59:59"), Timestamp.valueOf("2024-02-29 23:59:59.123456"), id % 2 == 0,
                    new byte[id % 50], new byte[4],
                };
                for (int place = 0; place < values.length; place++) {
                    insert.setObject(place + 2, empty ? null : values[place]);
                }
                insert.addBatch();
            }
            System.out.println("inserted " + insert.executeBatch().length);
        }
        connection.commit();
    }

    private static void query(Connection connection, String name, String text, int limit) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement(text)) {
            query.setMaxRows(limit);
            int rows = 0;
            try (ResultSet result = query.executeQuery()) {
                while (result.next()) {
                    rows++;
                }
            }
            System.out.println(name + " " + rows);
        }
    }
}
