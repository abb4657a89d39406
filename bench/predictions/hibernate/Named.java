import com.sun.net.httpserver.HttpExchange;
import org.hibernate.resource.jdbc.spi.StatementInspector;

/** Names each statement's request in a comment at its end. */
public final class Named implements StatementInspector {
    private static final ThreadLocal<String> comment = ThreadLocal.withInitial(() -> "");

    static void remember(HttpExchange request) {
        var parent = request.getRequestHeaders().getFirst("traceparent");
        comment.set(" /*route='" + request.getRequestURI().getPath().substring(1) + "',traceparent='" + (parent == null ? "" : parent) + "'*/");
    }

    @Override
    public String inspect(String sql) {
        return sql + comment.get();
    }
}
