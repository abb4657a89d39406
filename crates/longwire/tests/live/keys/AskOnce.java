import java.sql.DriverManager;
import java.sql.SQLException;

/** Asks each database once: a statement, and the URLs of databases. */
public final class AskOnce {
    private AskOnce() {}

    public static void main(String[] arguments) throws SQLException {
        for (int place = 1; place < arguments.length; place++) {
            try (var connection = DriverManager.getConnection(arguments[place]);
                    var statement = connection.createStatement()) {
                statement.executeQuery(arguments[0]).next();
            }
        }
    }
}
