package longwire.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Each row of a result read and then changed: the cursor `for update`. Timed with the commit, as {@link Inserting}. */
final class Updating {
    private static final int BY_KEY = 0;
    private static final int IN_RESULT = 1;

    private final Channel channel;
    private final Connection connection;
    private final int how;
    private final String select;
    private final String update;
    private final String column;
    private final String value;
    private final int fetchSize;
    private final int batch;
    private long rows;
    private long changed;

    Updating(Channel channel, Connection connection, Body body) {
        this.channel = channel;
        this.connection = connection;
        how = body.tag();
        select = body.text();
        update = body.text();
        column = body.text();
        value = body.text();
        fetchSize = body.number();
        batch = Math.max(1, body.number());
    }

    Done run() throws SQLException {
        Done done = Done.timed(() -> {
            if (how == IN_RESULT) {
                inResult();
            } else {
                byKey();
            }
            if (!connection.getAutoCommit()) {
                connection.commit();
            }
        });
        done.rows = rows;
        done.changed = changed;
        return done;
    }

    private void byKey() throws SQLException {
        try (Statement reading = channel.running(connection.createStatement());
                PreparedStatement writing = connection.prepareStatement(update)) {
            reading.setFetchSize(fetchSize);
            try (ResultSet result = reading.executeQuery(select)) {
                int held = 0;
                while (result.next()) {
                    rows++;
                    writing.setString(1, value);
                    writing.setInt(2, result.getInt(1));
                    if (how == BY_KEY) {
                        changed += writing.executeUpdate();
                    } else {
                        writing.addBatch();
                        held = held + 1 == batch ? send(writing) : held + 1;
                    }
                }
                if (held > 0) {
                    send(writing);
                }
            }
        }
    }

    private int send(PreparedStatement writing) throws SQLException {
        for (int count : writing.executeBatch()) {
            changed += count == Statement.SUCCESS_NO_INFO ? 1 : count;
        }
        return 0;
    }

    private void inResult() throws SQLException {
        try (Statement reading = channel.running(
                connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE))) {
            reading.setFetchSize(fetchSize);
            try (ResultSet result = reading.executeQuery(select)) {
                while (result.next()) {
                    rows++;
                    result.updateString(column, value);
                    result.updateRow();
                    changed++;
                }
            }
        }
    }
}
