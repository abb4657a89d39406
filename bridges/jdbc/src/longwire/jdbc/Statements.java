package longwire.jdbc;

import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;

/** Statements as an application runs them: text, prepared each time, or prepared once. */
final class Statements {
    private static final int TEXT = 0;
    private static final int PREPARED_EACH_TIME = 1;
    private static final int PREPARED_ONCE = 2;
    /** Durations in one frame. */
    private static final int FRAME = 1000;

    private final Channel channel;
    private final Map<String, PreparedStatement> prepared = new HashMap<>();

    Statements(Channel channel) {
        this.channel = channel;
    }

    /** What a request asks for. */
    private static final class Asked {
        final int how;
        final String sql;
        final int fetchSize;
        final int times;
        final boolean keeps;
        final boolean weighs;
        final Object[] values;

        Asked(Body body) {
            how = body.tag();
            sql = body.text();
            fetchSize = body.number();
            times = body.number();
            keeps = body.flag();
            weighs = body.flag();
            values = new Object[body.number()];
            for (int value = 0; value < values.length; value++) {
                values[value] = body.value();
            }
        }
    }

    /** One execution; the no-op of the overhead goes the same way. */
    private interface Operation {
        void run(Done done, Heap heap) throws SQLException;
    }

    Done execute(Connection connection, Body body) throws SQLException, IOException {
        Asked asked = new Asked(body);
        return repeat(asked.times, new Heap(asked.weighs), (done, heap) -> once(connection, asked, done, heap));
    }

    /** What the clock and the way to a statement cost where there is none. */
    Done overhead(int times) throws SQLException, IOException {
        return repeat(times, new Heap(false), (done, heap) -> { });
    }

    void forget() {
        prepared.clear();
    }

    private Done repeat(int times, Heap heap, Operation operation) throws SQLException, IOException {
        Done done = new Done();
        long[] samples = new long[Math.min(times, FRAME)];
        int held = 0;
        for (int time = 0; time < times; time++) {
            long began = System.nanoTime();
            operation.run(done, heap);
            long nanos = System.nanoTime() - began;
            done.nanos += nanos;
            samples[held++] = nanos;
            if (held == FRAME) {
                channel.samples(samples, held);
                held = 0;
            }
        }
        if (held > 0) {
            channel.samples(samples, held);
        }
        done.heap = heap.most();
        return done;
    }

    private void once(Connection connection, Asked asked, Done done, Heap heap) throws SQLException {
        switch (asked.how) {
            case TEXT:
                try (Statement statement = channel.running(connection.createStatement())) {
                    if (asked.fetchSize != 0) {
                        statement.setFetchSize(asked.fetchSize);
                    }
                    results(statement, statement.execute(asked.sql), asked, done, heap);
                }
                break;
            case PREPARED_EACH_TIME:
                try (PreparedStatement statement = channel.running(connection.prepareStatement(asked.sql))) {
                    run(statement, asked, done, heap);
                }
                break;
            case PREPARED_ONCE:
                PreparedStatement statement = prepared.get(asked.sql);
                if (statement == null) {
                    statement = connection.prepareStatement(asked.sql);
                    prepared.put(asked.sql, statement);
                }
                run(channel.running(statement), asked, done, heap);
                break;
            default:
                throw new IllegalArgumentException("no statement is run in way " + asked.how);
        }
    }

    private static void run(PreparedStatement statement, Asked asked, Done done, Heap heap) throws SQLException {
        if (asked.fetchSize != 0) {
            statement.setFetchSize(asked.fetchSize);
        }
        for (int value = 0; value < asked.values.length; value++) {
            Object given = asked.values[value];
            if (given instanceof Long && (int) (long) given == (long) given) {
                statement.setInt(value + 1, (int) (long) given);
            } else {
                statement.setObject(value + 1, given);
            }
        }
        results(statement, statement.execute(), asked, done, heap);
    }

    /** All results to their ends. */
    private static void results(Statement statement, boolean hasRows, Asked asked, Done done, Heap heap)
            throws SQLException {
        boolean rows = hasRows;
        while (true) {
            if (rows) {
                try (ResultSet result = statement.getResultSet()) {
                    drain(result, asked, done, heap);
                }
            } else {
                long count = statement.getUpdateCount();
                if (count < 0) {
                    return;
                }
                done.changed += count;
            }
            rows = statement.getMoreResults();
        }
    }

    private static void drain(ResultSet result, Asked asked, Done done, Heap heap) throws SQLException {
        ResultSetMetaData columns = result.getMetaData();
        int count = columns.getColumnCount();
        while (result.next()) {
            heap.weigh();
            done.rows++;
            if (asked.keeps) {
                keep(result, columns, count, done);
            } else {
                for (int column = 1; column <= count; column++) {
                    result.getObject(column);
                }
            }
        }
    }

    private static void keep(ResultSet result, ResultSetMetaData columns, int count, Done done) throws SQLException {
        done.names = new String[count];
        done.values = new String[count];
        for (int column = 1; column <= count; column++) {
            done.names[column - 1] = columns.getColumnLabel(column);
            done.values[column - 1] = result.getString(column);
        }
    }
}
