import com.sun.net.httpserver.HttpExchange;
import org.hibernate.resource.jdbc.spi.StatementInspector;

/** Names each statement's request in a comment at its end. */
public final class Named implements StatementInspector {
    private static final ThreadLocal<String> comment = ThreadLocal.withInitial(() -> "");

    static void remember(HttpExchange request) {
        var parent = request.getRequestHeaders().getFirst("traceparent");
        comment.set(" /*route='" + safe(request.getRequestURI().getPath().substring(1)) + "',traceparent='" + safe(parent == null ? "" : parent) + "'*/");
    }

    /** Without what could end the comment or the text: a client sent it. */
    private static String safe(String text) {
        return text.replaceAll("[^\\w./-]", "");
    }

    @Override
    public String inspect(String sql) {
        return sql + comment.get();
    }
}
