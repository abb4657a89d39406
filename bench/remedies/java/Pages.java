import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.concurrent.Executors;

/** The JDK's HTTP server, HikariCP, pgjdbc: 400 rows read, 20 a fetch (page) or 1,000 (mended); 30 rows written, one by one (rows) or in one batch (batch). */
public class Pages {
    public static void main(String[] args) throws Exception {
        var config = new HikariConfig();
        var environment = System.getenv();
        var place = environment.getOrDefault("PGHOST", "10.88.2.2") + ":" + environment.getOrDefault("PGPORT", "5432");
        config.setJdbcUrl("jdbc:postgresql://" + place + "/pages?reWriteBatchedInserts=true");
        config.setUsername("pages");
        config.setPassword("pages");
        config.setMaximumPoolSize(2);
        config.setAutoCommit(false);
        var pool = new HikariDataSource(config);
        var server = HttpServer.create(new InetSocketAddress("10.88.1.2", Integer.parseInt(args[0])), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        answer(server, pool, "/page", connection -> read(connection, 20));
        answer(server, pool, "/mended", connection -> read(connection, 1000));
        answer(server, pool, "/rows", connection -> write(connection, false));
        answer(server, pool, "/batch", connection -> write(connection, true));
        server.start();
    }

    interface Page {
        String text(Connection connection) throws Exception;
    }

    static void answer(HttpServer server, HikariDataSource pool, String path, Page page) {
        server.createContext(path, exchange -> {
            byte[] body;
            try (Connection connection = pool.getConnection()) {
                body = page.text(connection).getBytes(StandardCharsets.UTF_8);
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
    }

    static String read(Connection connection, int size) throws Exception {
        var text = new StringBuilder();
        try (var statement = connection.prepareStatement("select id, total, note from orders where id <= ? order by id")) {
            statement.setFetchSize(size);
            statement.setInt(1, 400);
            var rows = statement.executeQuery();
            while (rows.next()) text.append(rows.getInt(1)).append(' ').append(rows.getString(3)).append('\n');
        }
        connection.commit();
        return text.toString();
    }

    static String write(Connection connection, boolean together) throws Exception {
        try (var statement = connection.prepareStatement("insert into entries (order_id, article, price) values (?, ?, ?)")) {
            for (int number = 0; number < 30; number++) {
                statement.setInt(1, number);
                statement.setString(2, "article " + number);
                statement.setInt(3, number * 3);
                if (together) statement.addBatch();
                else statement.executeUpdate();
            }
            if (together) statement.executeBatch();
        }
        connection.commit();
        return "written";
    }
}
