import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.logging.Logger;

/** A driver as bad as drivers get: it prints, reads stdin, hangs, says what it should not, throws what it may not, ends the process. */
public class Noisy implements Driver {
    static {
        try {
            DriverManager.registerDriver(new Noisy());
        } catch (SQLException fault) {
            throw new ExceptionInInitializerError(fault);
        }
    }

    @Override
    public Connection connect(String url, Properties properties) throws SQLException {
        System.out.println("Noisy: connecting to " + url);
        if (properties.containsKey("refuse")) {
            throw new SQLException("no entry for '" + url + "' with " + properties.getProperty("password") + " 42", "28000", 7);
        }
        return made(Connection.class);
    }

    private static <T> T made(Class<T> type) {
        return type.cast(Proxy.newProxyInstance(Noisy.class.getClassLoader(), new Class<?>[] {type}, (self, method, values) -> {
            System.out.print("Noisy: " + method.getName() + "\n\0\0\0\5");
            switch (method.getName()) {
                case "createStatement":
                    return made(Statement.class);
                case "prepareStatement":
                    return made(PreparedStatement.class);
                case "execute":
                    return act(values == null ? "" : (String) values[0]);
                case "getUpdateCount":
                    return -1;
                case "getMoreResults":
                    return false;
                default:
                    return null;
            }
        }));
    }

    private static boolean act(String sql) throws Exception {
        switch (sql) {
            case "hang":
                Thread.sleep(600_000);
                return false;
            case "memory":
                throw new OutOfMemoryError("all of it");
            case "odd":
                throw new IllegalStateException("value 'secret' is odd");
            case "exit":
                System.err.println("Noisy: cannot go on with 'secret'");
                Runtime.getRuntime().halt(3);
                return false;
            default:
                System.in.read();
                return false;
        }
    }

    @Override
    public boolean acceptsURL(String url) {
        return url.startsWith("jdbc:noisy:");
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, Properties properties) {
        return new DriverPropertyInfo[0];
    }

    @Override
    public int getMajorVersion() {
        return 1;
    }

    @Override
    public int getMinorVersion() {
        return 0;
    }

    @Override
    public boolean jdbcCompliant() {
        return false;
    }

    @Override
    public Logger getParentLogger() {
        return null;
    }
}
