package longwire.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/** Rows into a table, in one transaction where autocommit is off: the commit is part of what is timed. */
final class Inserting {
    private static final int TEXT = 0;
    private static final int PREPARED = 1;
    private static final int BATCH = 2;
    private static final int MANY_ROWS = 3;

    private final Channel channel;
    private final Connection connection;
    private final int how;
    private final String insert;
    private final int size;
    private final long rows;
    private final Columns columns;
    private final Heap heap;
    private long changed;

    Inserting(Channel channel, Connection connection, Body body) {
        this.channel = channel;
        this.connection = connection;
        how = body.tag();
        insert = body.text();
        size = Math.max(1, body.number());
        rows = body.large();
        boolean weighs = body.flag();
        columns = Columns.of(body);
        heap = new Heap(weighs);
    }

    Done run() throws SQLException {
        Done done = Done.timed(() -> {
            insert();
            if (!connection.getAutoCommit()) {
                connection.commit();
            }
        });
        done.rows = rows;
        done.changed = changed;
        done.heap = heap.most();
        return done;
    }

    private void insert() throws SQLException {
        switch (how) {
            case TEXT:
                texts();
                break;
            case PREPARED:
                prepared();
                break;
            case BATCH:
                batches();
                break;
            case MANY_ROWS:
                manyRows();
                break;
            default:
                throw new IllegalArgumentException("no rows are inserted in way " + how);
        }
    }

    private void texts() throws SQLException {
        try (Statement statement = channel.running(connection.createStatement())) {
            StringBuilder sql = new StringBuilder();
            for (long row = 0; row < rows; row++) {
                sql.setLength(0);
                sql.append(insert).append(" values ");
                columns.literals(sql, row);
                changed += statement.executeUpdate(sql.toString());
            }
        }
    }

    private void prepared() throws SQLException {
        try (PreparedStatement statement = prepare(1)) {
            for (long row = 0; row < rows; row++) {
                columns.set(statement, 1, row);
                changed += statement.executeUpdate();
            }
        }
    }

    private void batches() throws SQLException {
        try (PreparedStatement statement = prepare(1)) {
            for (long row = 0; row < rows; row++) {
                columns.set(statement, 1, row);
                statement.addBatch();
                if ((row + 1) % size == 0 || row + 1 == rows) {
                    heap.weigh();
                    count(statement.executeBatch());
                }
            }
        }
    }

    private void manyRows() throws SQLException {
        long whole = rows - rows % size;
        if (whole > 0) {
            try (PreparedStatement statement = prepare(size)) {
                for (long row = 0; row < whole; row += size) {
                    changed += executeRows(statement, row, size);
                }
            }
        }
        if (whole < rows) {
            int left = (int) (rows - whole);
            try (PreparedStatement statement = prepare(left)) {
                changed += executeRows(statement, whole, left);
            }
        }
    }

    private long executeRows(PreparedStatement statement, long first, int count) throws SQLException {
        for (int row = 0; row < count; row++) {
            columns.set(statement, 1 + row * columns.count(), first + row);
        }
        heap.weigh();
        return statement.executeUpdate();
    }

    private PreparedStatement prepare(int count) throws SQLException {
        String marks = "(?" + ", ?".repeat(columns.count() - 1) + ")";
        String sql = insert + " values " + marks + (", " + marks).repeat(count - 1);
        return channel.running(connection.prepareStatement(sql));
    }

    /** A driver that sends rows together may not know what became of each. */
    private void count(int[] counts) {
        for (int count : counts) {
            changed += count == Statement.SUCCESS_NO_INFO ? 1 : count;
        }
    }
}
