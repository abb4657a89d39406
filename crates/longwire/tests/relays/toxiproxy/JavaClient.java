import eu.rekawek.toxiproxy.Proxy;
import eu.rekawek.toxiproxy.ToxiproxyClient;
import eu.rekawek.toxiproxy.model.ToxicDirection;
import eu.rekawek.toxiproxy.model.toxic.Latency;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;

/**
 * What toxiproxy's Java client, which Testcontainers uses, does, done to longwire. Arguments: the API's port, the port of a Redis.
 */
public final class JavaClient {
    private static final String PONG = "+PONG\r\n";

    public static void main(String[] arguments) throws Exception {
        ToxiproxyClient client = new ToxiproxyClient("127.0.0.1", Integer.parseInt(arguments[0]));
        check(client.version().contains("2.12.0"), "version: " + client.version());
        String upstream = "127.0.0.1:" + arguments[1];
        Proxy proxy = client.createProxy("redis", "127.0.0.1:0", upstream);
        check(!proxy.getListen().endsWith(":0") && proxy.isEnabled(), proxy.getListen());
        check(client.getProxies().size() == 1 && client.getProxy("redis").getUpstream().equals(upstream), "one proxy");
        toxics(proxy);
        offAndOn(client, proxy);
        proxy.delete();
        check(client.getProxies().isEmpty(), "no proxy is left");
        System.out.println("java client: done");
    }

    private static void toxics(Proxy proxy) throws IOException {
        try (Socket socket = connected(proxy)) {
            Latency latency = proxy.toxics().latency("slow", ToxicDirection.UPSTREAM, 80);
            check(tookAtLeast(80, socket), "latency");
            latency.setLatency(160).setJitter(10);
            check(tookAtLeast(150, socket), "a latency that was changed");
            Latency found = proxy.toxics().get("slow", Latency.class);
            check(found.getLatency() == 160 && found.getJitter() == 10 && found.getToxicity() == 1, "read back");
            latency.remove();
            proxy.toxics().bandwidth("rate", ToxicDirection.DOWNSTREAM, 1000).remove();
            proxy.toxics().slicer("slices", ToxicDirection.DOWNSTREAM, 2, 100).setSizeVariation(1);
            check(said(socket, PONG.length()).equals(PONG), "slices");
            proxy.toxics().slowClose("end", ToxicDirection.DOWNSTREAM, 10);
            proxy.toxics().timeout("late", ToxicDirection.UPSTREAM, 50).setToxicity(0.0f);
            check(said(socket, PONG.length()).equals(PONG), "spared");
            check(proxy.toxics().getAll().size() == 3, "three toxics");
            proxy.toxics().limitData("limit", ToxicDirection.DOWNSTREAM, 3);
            check(said(socket, 100).equals("+PO"), "the limit");
        }
        proxy.toxics().resetPeer("reset", ToxicDirection.DOWNSTREAM, 0);
        try (Socket socket = connected(proxy)) {
            said(socket, 1);
            throw new IllegalStateException("a reset was expected");
        } catch (SocketException expected) {
            check(expected.getMessage().contains("reset"), expected.getMessage());
        }
    }

    private static void offAndOn(ToxiproxyClient client, Proxy proxy) throws IOException {
        proxy.disable();
        try (Socket socket = connected(proxy)) {
            throw new IllegalStateException("nobody should listen: " + socket);
        } catch (ConnectException expected) {
            check(!client.getProxy("redis").isEnabled(), "it is off");
        }
        client.reset();
        check(proxy.toxics().getAll().isEmpty(), "no toxic is left");
        try (Socket socket = connected(proxy)) {
            check(said(socket, PONG.length()).equals(PONG), "it is on again");
        }
    }

    private static Socket connected(Proxy proxy) throws IOException {
        String[] parts = proxy.getListen().split(":");
        Socket socket = new Socket(parts[0], Integer.parseInt(parts[1]));
        socket.setSoTimeout(20_000);
        return socket;
    }

    /** What Redis says to PING, as far as it arrives. */
    private static String said(Socket socket, int length) throws IOException {
        socket.getOutputStream().write("PING\r\n".getBytes(StandardCharsets.US_ASCII));
        InputStream in = socket.getInputStream();
        return new String(in.readNBytes(length), StandardCharsets.US_ASCII);
    }

    private static boolean tookAtLeast(long milliseconds, Socket socket) throws IOException {
        long began = System.nanoTime();
        check(said(socket, PONG.length()).equals(PONG), "an answer");
        return System.nanoTime() - began >= milliseconds * 1_000_000;
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }
}
