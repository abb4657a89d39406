import java.sql.DriverManager;
import java.sql.SQLException;

/** The same work as the other programs do, over the URL that is given. */
public final class SameWork {
    private SameWork() {}

    public static void main(String[] arguments) throws SQLException {
        try (var connection = DriverManager.getConnection(arguments[0])) {
            try (var one = connection.prepareStatement("select name from numbers where n = ?")) {
                for (int n = 1; n <= 5; n++) {
                    one.setInt(1, n);
                    try (var rows = one.executeQuery()) {
                        rows.next();
                    }
                }
            }
            try (var all = connection.createStatement();
                    var rows = all.executeQuery("select n, name from numbers order by n")) {
                while (rows.next()) {
                    rows.getString(2);
                }
            }
            connection.setAutoCommit(false);
            try (var insert = connection.prepareStatement("insert into marks values (?)")) {
                insert.setInt(1, 7);
                insert.executeUpdate();
            }
            connection.commit();
        }
    }
}
