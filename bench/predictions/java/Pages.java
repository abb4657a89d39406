import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;

/** Java: the JDK's HTTP server with eight threads, HikariCP with eight connections, pgjdbc. */
public final class Pages {
    interface Page {
        List<String> rows() throws Exception;
    }

    private static HikariDataSource pool;
    private static final ExecutorService helpers = Executors.newFixedThreadPool(16);

    private static int item() {
        return 1 + ThreadLocalRandom.current().nextInt(1000);
    }

    private static String lookUp(Connection sql, int number) throws SQLException {
        try (var statement = sql.prepareStatement("select id, name, stars from items where id = ?")) {
            statement.setInt(1, number);
            try (var rows = statement.executeQuery()) {
                rows.next();
                return "[" + rows.getInt(1) + ",\"" + rows.getString(2) + "\"," + rows.getInt(3) + "]";
            }
        }
    }

    private static String lookUp() throws SQLException {
        try (var sql = pool.getConnection()) {
            return lookUp(sql, item());
        }
    }

    private static List<String> eight() throws SQLException {
        var rows = new ArrayList<String>();
        try (var sql = pool.getConnection()) {
            for (int n = 0; n < 8; n++) rows.add(lookUp(sql, item()));
        }
        return rows;
    }

    private static List<String> parallel() throws Exception {
        var asked = new ArrayList<Future<String>>();
        for (int n = 0; n < 4; n++) asked.add(helpers.submit(() -> lookUp()));
        var rows = new ArrayList<String>();
        for (var row : asked) rows.add(row.get());
        return rows;
    }

    private static void change(Connection sql, String statement, int number) throws SQLException {
        try (var prepared = sql.prepareStatement(statement)) {
            prepared.setInt(1, number);
            prepared.executeUpdate();
        }
    }

    private static List<String> transaction() throws SQLException {
        int number = item();
        try (var sql = pool.getConnection()) {
            sql.setAutoCommit(false);
            var row = lookUp(sql, number);
            change(sql, "update items set stars = stars + 1 where id = ?", number);
            change(sql, "insert into visits (item) values (?)", number);
            sql.commit();
            return List.of(row);
        }
    }

    private static void serve(HttpServer server, String path, Page page) {
        server.createContext(path, exchange -> {
            int status = 200;
            byte[] body;
            try {
                body = ("[" + String.join(",", page.rows()) + "]").getBytes(StandardCharsets.UTF_8);
            } catch (Exception error) {
                status = 500;
                body = error.toString().getBytes(StandardCharsets.UTF_8);
            }
            exchange.sendResponseHeaders(status, body.length);
            try (var out = exchange.getResponseBody()) {
                out.write(body);
            }
        });
    }

    public static void main(String[] arguments) throws Exception {
        var environment = System.getenv();
        var settings = new HikariConfig();
        settings.setJdbcUrl("jdbc:postgresql://" + environment.get("PGHOST") + ":" + environment.get("PGPORT") + "/"
                + environment.get("PGDATABASE") + "?sslmode=" + environment.get("PGSSLMODE"));
        settings.setUsername(environment.get("PGUSER"));
        settings.setMaximumPoolSize(8);
        pool = new HikariDataSource(settings);
        System.setProperty("sun.net.httpserver.nodelay", "true");
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(environment.get("PORT"))), 64);
        server.setExecutor(Executors.newFixedThreadPool(8));
        serve(server, "/one", () -> List.of(lookUp()));
        serve(server, "/eight", () -> eight());
        serve(server, "/parallel", () -> parallel());
        serve(server, "/transaction", () -> transaction());
        server.start();
    }
}
