package longwire.jdbc;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/** One database connection and the thread that uses it. */
final class Channel implements Runnable {
    private final int number;
    private final Frames frames;
    private final BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
    private final Statements statements = new Statements(this);
    private Connection connection;
    private volatile Statement running;

    private Channel(int number, Frames frames) {
        this.number = number;
        this.frames = frames;
    }

    static Channel start(int number, Frames frames) {
        Channel channel = new Channel(number, frames);
        Thread thread = new Thread(channel, "channel " + number);
        // The process ends with stdin, not with its channels.
        thread.setDaemon(true);
        thread.start();
        return channel;
    }

    void ask(Request request) {
        requests.add(request);
    }

    /** From the thread that reads: what the channel's own thread waits for is given up, if the driver can. */
    void cancel() {
        Statement statement = running;
        if (statement == null) {
            return;
        }
        // Some drivers connect to say so.
        new Thread(() -> {
            try {
                statement.cancel();
            } catch (SQLException | RuntimeException | LinkageError fault) {
                System.err.println("longwire-jdbc: cancel: " + fault);
            }
        }, "cancel").start();
    }

    /** What {@link #cancel} would give up from now on. */
    <S extends Statement> S running(S statement) {
        running = statement;
        return statement;
    }

    @Override
    public void run() {
        try {
            Request request;
            do {
                request = requests.take();
                frames.send(answer(request));
            } while (request.type != Request.CLOSE);
        } catch (IOException | InterruptedException gone) {
            // Nobody is there to be told.
            Runtime.getRuntime().halt(2);
        }
    }

    /** Part of a long answer. */
    void samples(long[] nanos, int count) throws IOException {
        Reply reply = new Reply(number, Reply.SAMPLES);
        reply.number(count);
        for (int sample = 0; sample < count; sample++) {
            reply.large(nanos[sample]);
        }
        frames.send(reply);
    }

    private Reply answer(Request request) throws IOException {
        try {
            return carryOut(request);
        } catch (SQLException | RuntimeException | ReflectiveOperationException | LinkageError
                | OutOfMemoryError | StackOverflowError fault) {
            return Fault.reply(number, fault);
        } finally {
            running = null;
        }
    }

    private Reply carryOut(Request request) throws SQLException, IOException, ReflectiveOperationException {
        switch (request.type) {
            case Request.OPEN:
                return open(request.body);
            case Request.EXECUTE:
                return statements.execute(connected(), request.body).reply(number);
            case Request.INSERT:
                return new Inserting(this, connected(), request.body).run().reply(number);
            case Request.UPDATE:
                return new Updating(this, connected(), request.body).run().reply(number);
            case Request.AUTOCOMMIT:
                boolean on = request.body.flag();
                return Done.timed(() -> connected().setAutoCommit(on)).reply(number);
            case Request.COMMIT:
                return Done.timed(() -> connected().commit()).reply(number);
            case Request.ROLLBACK:
                return Done.timed(() -> connected().rollback()).reply(number);
            case Request.OVERHEAD:
                return statements.overhead(request.body.number()).reply(number);
            case Request.COLUMNS:
                return Columns.describe(connected(), request.body.text()).reply(number);
            case Request.CLOSE:
                return Done.timed(this::close).reply(number);
            default:
                throw new IllegalArgumentException("no request has type " + request.type);
        }
    }

    private Reply open(Body body) throws SQLException, ReflectiveOperationException {
        Opening opening = Opening.of(body);
        close();
        connection = opening.connection;
        return opening.reply(number);
    }

    private Connection connected() throws SQLException {
        if (connection == null) {
            throw new SQLException("no connection was opened on this channel", "08003");
        }
        return connection;
    }

    private void close() throws SQLException {
        statements.forget();
        Connection old = connection;
        connection = null;
        if (old == null) {
            return;
        }
        try {
            old.close();
        } catch (SQLException inTransaction) {
            // Derby wants it ended first; others would only be asked once more.
            if (!"25001".equals(inTransaction.getSQLState())) {
                throw inTransaction;
            }
            old.rollback();
            old.close();
        }
    }
}
