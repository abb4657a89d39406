import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.Table;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** Hibernate 6 with HikariCP, under the JDK's HTTP server with eight threads. SQLCOMMENTER=own names the requests in SQL comments. */
public final class Pages {
    @Entity(name = "Author")
    @Table(name = "authors")
    static class Author {
        @Id int id;
        String name;
    }

    @Entity(name = "Item")
    @Table(name = "items")
    static class Item {
        @Id int id;
        String name;
        int stars;
        @ManyToOne(fetch = FetchType.LAZY) @JoinColumn(name = "author_id") Author author;

        /** Read through the proxy, which loads the author. */
        String authorName() {
            return ((Author) org.hibernate.Hibernate.unproxy(author)).name;
        }
    }

    private static SessionFactory sessions;

    private static String rows(String join) {
        int first = 1 + ThreadLocalRandom.current().nextInt(900);
        return sessions.fromTransaction(session -> {
            var rows = new ArrayList<String>();
            for (var item : session.createSelectionQuery("select i from Item i " + join + " where i.id >= :first order by i.id", Item.class)
                    .setParameter("first", first).setMaxResults(12).list()) {
                rows.add("{\"id\":" + item.id + ",\"name\":\"" + item.name + "\",\"stars\":" + item.stars + ",\"author\":\"" + item.authorName() + "\"}");
            }
            return "[" + String.join(",", rows) + "]";
        });
    }

    private static void serve(HttpExchange exchange) throws java.io.IOException {
        Named.remember(exchange);
        int status = 200;
        String body;
        try {
            body = rows(exchange.getRequestURI().getPath().equals("/joined") ? "join fetch i.author" : "");
        } catch (RuntimeException error) {
            status = 500;
            body = error.toString();
        }
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        try (var out = exchange.getResponseBody()) {
            out.write(bytes);
        }
    }

    public static void main(String[] arguments) throws Exception {
        var environment = System.getenv();
        var settings = new Configuration().addAnnotatedClass(Author.class).addAnnotatedClass(Item.class);
        settings.setProperty("hibernate.connection.url", "jdbc:postgresql://" + environment.get("PGHOST") + ":" + environment.get("PGPORT")
                + "/" + environment.get("PGDATABASE") + "?sslmode=" + environment.get("PGSSLMODE"));
        settings.setProperty("hibernate.connection.username", environment.get("PGUSER"));
        settings.setProperty("hibernate.connection.provider_class", "org.hibernate.hikaricp.internal.HikariCPConnectionProvider");
        settings.setProperty("hibernate.hikari.maximumPoolSize", "8");
        if ("own".equals(environment.get("SQLCOMMENTER"))) {
            settings.setStatementInspector(new Named());
        }
        sessions = settings.buildSessionFactory();
        System.setProperty("sun.net.httpserver.nodelay", "true");
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(environment.get("PORT"))), 64);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", Pages::serve);
        server.start();
    }
}
