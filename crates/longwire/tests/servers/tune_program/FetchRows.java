import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;

/** Reads all rows of a table in a transaction: {@code FetchRows URL TABLE}. The fetch size is left to the URL. */
public final class FetchRows {
    private FetchRows() {
    }

    public static void main(String[] arguments) throws Exception {
        int rows = 0;
        try (Connection connection = DriverManager.getConnection(arguments[0])) {
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement();
                    ResultSet result = statement.executeQuery("SELECT * FROM " + arguments[1])) {
                while (result.next()) {
                    rows++;
                }
            }
            connection.commit();
        }
        if (rows != 2000) {
            throw new IllegalStateException(rows + " rows");
        }
    }
}
