// Java: the JDK's HTTP server with a thread for each request, HikariCP and pgjdbc (prepared statements): /held keeps a connection for its request,
// /each takes one for each statement; /item, /list and /buy are pages of different statements, each on one connection.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;

public class Pages {
    interface Page {
        void serve(String number) throws SQLException;
    }

    static HikariDataSource pool;

    static void ask(Connection connection, String number, String... texts) throws SQLException {
        for (String text : texts) {
            try (var statement = connection.prepareStatement("/* r=" + number + " */ " + text)) {
                statement.execute();
            }
        }
    }

    static void held(String number, String... texts) throws SQLException {
        try (var connection = pool.getConnection()) {
            ask(connection, number, texts);
        }
    }

    static void each(String number, String... texts) throws SQLException {
        for (String text : texts) held(number, text);
    }

    static String[] five() {
        var texts = new ArrayList<String>();
        for (int n = 1; n <= 5; n++) texts.add("select id, name, stars from items where id = " + n);
        return texts.toArray(new String[0]);
    }

    static String[] list(String number) {
        var texts = new ArrayList<>(List.of("select id, author_id from items order by stars limit 10"));
        for (int n = 0; n < Integer.parseInt(number) % 7; n++) texts.add("select name from authors where id = " + (n + 1));
        return texts.toArray(new String[0]);
    }

    static void buy(String number) throws SQLException {
        try (var connection = pool.getConnection()) {
            connection.setAutoCommit(false);
            ask(connection, number, "select count(*) from items where stars = 3", "insert into visits (item) values (3)");
            connection.commit();
            connection.setAutoCommit(true);
            ask(connection, number, "select name from authors where id = 9");
        }
    }

    static void serve(HttpServer server, String path, Page page) {
        server.createContext(path, (HttpExchange exchange) -> {
            int status = 200;
            try {
                page.serve(exchange.getRequestURI().getQuery().substring(2));
            } catch (SQLException error) {
                error.printStackTrace();
                status = 500;
            }
            exchange.sendResponseHeaders(status, 4);
            exchange.getResponseBody().write("done".getBytes());
            exchange.close();
        });
    }

    public static void main(String[] arguments) throws Exception {
        var config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://127.0.0.1:" + System.getenv("PGPORT") + "/postgres?sslmode=disable");
        config.setUsername("postgres");
        config.setMaximumPoolSize(Integer.parseInt(System.getenv("POOL")));
        pool = new HikariDataSource(config);
        var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(System.getenv("PORT")));
        var server = HttpServer.create(address, 128);
        server.setExecutor(Executors.newCachedThreadPool());
        serve(server, "/held", number -> held(number, five()));
        serve(server, "/each", number -> each(number, five()));
        serve(server, "/item", number -> held(number, "select name, stars, author_id from items where id = 7", "select name from authors where id = 7"));
        serve(server, "/list", number -> held(number, list(number)));
        serve(server, "/buy", Pages::buy);
        server.start();
    }
}
