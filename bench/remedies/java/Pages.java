import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.util.concurrent.Executors;

/** The JDK's HTTP server, HikariCP, pgjdbc: 400 rows, 20 a fetch (page) or 1,000 (mended). */
public class Pages {
    public static void main(String[] args) throws Exception {
        var config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://10.88.2.2/pages");
        config.setUsername("pages");
        config.setPassword("pages");
        config.setMaximumPoolSize(2);
        config.setAutoCommit(false);
        var pool = new HikariDataSource(config);
        var server = HttpServer.create(new InetSocketAddress("10.88.1.2", Integer.parseInt(args[0])), 0);
        server.setExecutor(Executors.newFixedThreadPool(4));
        for (var size : new int[] {20, 1000}) {
            server.createContext(size == 20 ? "/page" : "/mended", exchange -> {
                byte[] body;
                try (Connection connection = pool.getConnection()) {
                    body = read(connection, size).getBytes(StandardCharsets.UTF_8);
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
                exchange.close();
            });
        }
        server.start();
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
}
