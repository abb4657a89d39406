import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

public final class LongwireMarks implements BeforeEachCallback, AfterEachCallback {
    private static final String URL = System.getenv("LONGWIRE_URL");
    private static Connection connection;

    @Override
    public void beforeEach(ExtensionContext test) throws SQLException {
        mark(" " + test.getRequiredTestClass().getSimpleName() + "." + test.getRequiredTestMethod().getName());
    }

    @Override
    public void afterEach(ExtensionContext test) throws SQLException {
        mark("");
    }

    private static synchronized void mark(String name) throws SQLException {
        if (URL == null) {                    // not under longwire
            return;
        }
        if (connection == null) {
            connection = DriverManager.getConnection(URL);
        }
        try (Statement statement = connection.createStatement()) {
            statement.executeQuery("SELECT 1 AS \"longwire" + name + "\"").close();
        }
    }
}
