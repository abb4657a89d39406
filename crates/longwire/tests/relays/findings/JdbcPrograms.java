import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Properties;

/**
 * Small programs as applications are: JdbcPrograms USER PASSWORD (LABEL PROGRAM COUNT URL)...
 *
 * Runs each PROGRAM with COUNT by URL and prints "LABEL NANOSECONDS", the time of its work alone: connecting is part of it only where a
 * program connects to do its work. Ends with a stack trace and 1 when a program did not do what it should.
 */
public final class JdbcPrograms {
    private static final Properties LOGIN = new Properties();

    public static void main(String[] arguments) throws Exception {
        LOGIN.setProperty("user", arguments[0]);
        LOGIN.setProperty("password", arguments[1]);
        for (int at = 2; at < arguments.length; at += 4) {
            long nanoseconds = run(arguments[at + 1], Integer.parseInt(arguments[at + 2]), arguments[at + 3]);
            System.out.println(arguments[at] + " " + nanoseconds);
        }
    }

    private static long run(String program, int count, String url) throws SQLException {
        if (program.startsWith("connect-")) return connecting(program, count, url);
        try (Connection connection = open(url)) {
            long began = System.nanoTime();
            switch (program) {
                case "batch" -> batch(connection, count);
                case "all-rows" -> allRows(connection, count);
                default -> throw new IllegalArgumentException(program);
            }
            return System.nanoTime() - began;
        }
    }

    private static long connecting(String program, int count, String url) throws SQLException {
        int perConnection = program.equals("connect-each") ? 1 : count;
        long began = System.nanoTime();
        for (int first = 1; first <= count; first += perConnection) {
            try (Connection connection = open(url)) {
                for (int id = first; id < first + perConnection; id++) {
                    require(1, ask(connection, "select name from items where id = ?", id));
                }
            }
        }
        return System.nanoTime() - began;
    }

    private static void batch(Connection connection, int count) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement statement = connection.prepareStatement("insert into arrivals (id, name) values (?, ?)")) {
            for (int id = 0; id < count; id++) {
                statement.setInt(1, id);
                statement.setString(2, "arrival " + id);
                statement.addBatch();
            }
            require(count, statement.executeBatch().length);
        }
        connection.commit();
    }

    private static void allRows(Connection connection, int count) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement statement = connection.prepareStatement("select id, name from items order by id")) {
            require(count, rows(statement));
        }
        connection.commit();
    }

    private static int ask(Connection connection, String question, int id) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(question)) {
            statement.setInt(1, id);
            return rows(statement);
        }
    }

    private static int rows(PreparedStatement statement) throws SQLException {
        int rows = 0;
        try (ResultSet result = statement.executeQuery()) {
            while (result.next()) rows++;
        }
        return rows;
    }

    private static Connection open(String url) throws SQLException {
        return DriverManager.getConnection(url, LOGIN);
    }

    private static void require(int wanted, int got) {
        if (wanted != got) throw new IllegalStateException(got + " instead of " + wanted);
    }
}
