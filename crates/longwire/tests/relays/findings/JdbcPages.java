import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A web application with a pool of two connections, whose pages ask one statement each, and three users of it who look at
 * what they got before they ask again: JdbcPages PORT USER PASSWORD URL REQUESTS.
 *
 * Ends when all users have made their requests; with a stack trace and 1 when a page was not what it should be.
 */
public final class JdbcPages {
    private static final int USERS = 3;

    public static void main(String[] arguments) throws Exception {
        // Otherwise the body of each response waits for the acknowledgement of its head, which is a finding.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        BlockingQueue<Connection> pool = new ArrayBlockingQueue<>(2);
        while (pool.remainingCapacity() > 0) {
            pool.add(DriverManager.getConnection(arguments[3], arguments[1], arguments[2]));
        }
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0])), 0);
        server.setExecutor(Executors.newFixedThreadPool(USERS));
        server.createContext("/item/", exchange -> {
            String path = exchange.getRequestURI().getPath();
            byte[] page = page(pool, Integer.parseInt(path.substring("/item/".length()))).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
        AtomicInteger wrong = new AtomicInteger();
        List<Thread> users = new ArrayList<>();
        for (int user = 0; user < USERS; user++) {
            Random random = new Random(user);
            Thread thread = new Thread(() -> use(server.getAddress(), random, Integer.parseInt(arguments[4]), wrong));
            thread.start();
            users.add(thread);
        }
        for (Thread user : users) user.join();
        server.stop(0);
        for (Connection connection : pool) connection.close();
        System.exit(wrong.get() == 0 ? 0 : 1);
    }

    private static void use(InetSocketAddress server, Random random, int requests, AtomicInteger wrong) {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        try {
            for (int request = 0; request < requests; request++) {
                int id = 1 + random.nextInt(1000);
                URI address = URI.create("http://127.0.0.1:" + server.getPort() + "/item/" + id);
                String page = client.send(HttpRequest.newBuilder(address).build(), HttpResponse.BodyHandlers.ofString()).body();
                if (!page.equals("item " + id)) throw new IllegalStateException(page);
                Thread.sleep(5 + random.nextInt(40));
            }
        } catch (IOException | InterruptedException | IllegalStateException error) {
            error.printStackTrace();
            wrong.incrementAndGet();
        }
    }

    private static String page(BlockingQueue<Connection> pool, int id) throws IOException {
        try {
            Connection connection = pool.take();
            try (PreparedStatement statement = connection.prepareStatement("select name from items where id = ?")) {
                statement.setInt(1, id);
                try (ResultSet result = statement.executeQuery()) {
                    return result.next() ? result.getString(1) : "no such item";
                }
            } finally {
                pool.add(connection);
            }
        } catch (SQLException | InterruptedException error) {
            throw new IOException(error);
        }
    }
}
