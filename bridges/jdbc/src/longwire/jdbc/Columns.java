package longwire.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.SplittableRandom;

/** Columns of a table, and values for them that are made from the row's number: the same in every run. */
final class Columns {
    private static final String LETTERS = letters();

    private final String[] names;
    private final int[] types;
    private final int[] widths;

    private Columns(int count) {
        names = new String[count];
        types = new int[count];
        widths = new int[count];
    }

    static Columns of(Body body) {
        Columns columns = new Columns(body.number());
        for (int column = 0; column < columns.names.length; column++) {
            columns.names[column] = body.text();
            columns.types[column] = body.number();
            columns.widths[column] = body.number();
        }
        return columns;
    }

    /** Those of a query's result. */
    static Columns describe(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(query)) {
            ResultSetMetaData data = result.getMetaData();
            Columns columns = new Columns(data.getColumnCount());
            for (int column = 0; column < columns.names.length; column++) {
                columns.names[column] = data.getColumnLabel(column + 1);
                columns.types[column] = data.getColumnType(column + 1);
                columns.widths[column] = data.getPrecision(column + 1);
            }
            return columns;
        }
    }

    Reply reply(int channel) {
        Reply reply = new Reply(channel, Reply.COLUMNS);
        reply.number(names.length);
        for (int column = 0; column < names.length; column++) {
            reply.text(names[column]);
            reply.number(types[column]);
            reply.number(widths[column]);
        }
        return reply;
    }

    int count() {
        return names.length;
    }

    /** Sets the values of a row as parameters from {@code first} on. */
    void set(PreparedStatement statement, int first, long row) throws SQLException {
        for (int column = 0; column < names.length; column++) {
            int at = first + column;
            switch (types[column]) {
                case Types.INTEGER:
                    statement.setInt(at, (int) row);
                    break;
                case Types.SMALLINT:
                case Types.TINYINT:
                    statement.setShort(at, (short) (row % 100));
                    break;
                case Types.BIGINT:
                    statement.setLong(at, row);
                    break;
                case Types.DECIMAL:
                case Types.NUMERIC:
                case Types.DOUBLE:
                case Types.FLOAT:
                case Types.REAL:
                    statement.setDouble(at, row % 100);
                    break;
                case Types.BIT:
                case Types.BOOLEAN:
                    statement.setBoolean(at, row % 2 == 0);
                    break;
                case Types.DATE:
                    statement.setDate(at, new java.sql.Date(MOMENT));
                    break;
                case Types.TIMESTAMP:
                    statement.setTimestamp(at, new java.sql.Timestamp(MOMENT));
                    break;
                case Types.CHAR:
                case Types.VARCHAR:
                case Types.LONGVARCHAR:
                case Types.NVARCHAR:
                case Types.CLOB:
                    statement.setString(at, text(row, column));
                    break;
                default:
                    statement.setNull(at, types[column]);
            }
        }
    }

    /** The values of a row as literals, behind each other in brackets. */
    void literals(StringBuilder sql, long row) {
        sql.append('(');
        for (int column = 0; column < names.length; column++) {
            sql.append(column == 0 ? "" : ", ");
            switch (types[column]) {
                case Types.INTEGER:
                case Types.BIGINT:
                    sql.append(row);
                    break;
                case Types.SMALLINT:
                case Types.TINYINT:
                case Types.DECIMAL:
                case Types.NUMERIC:
                case Types.DOUBLE:
                case Types.FLOAT:
                case Types.REAL:
                    sql.append(row % 100);
                    break;
                case Types.DATE:
                    sql.append("'").append(new java.sql.Date(MOMENT)).append("'");
                    break;
                case Types.TIMESTAMP:
                    sql.append("'").append(new java.sql.Timestamp(MOMENT)).append("'");
                    break;
                case Types.CHAR:
                case Types.VARCHAR:
                case Types.LONGVARCHAR:
                case Types.NVARCHAR:
                case Types.CLOB:
                    sql.append('\'').append(text(row, column)).append('\'');
                    break;
                default:
                    sql.append("null");
            }
        }
        sql.append(')');
    }

    private String text(long row, int column) {
        int width = Math.min(Math.max(widths[column], 0), LONGEST_TEXT);
        int from = (int) Long.remainderUnsigned((row + 1) * 0x9E3779B97F4A7C15L + column, LETTERS.length() - width);
        return LETTERS.substring(from, from + width);
    }

    /** Letters that compress no better than text does; made once, so that making rows costs next to nothing. */
    private static String letters() {
        SplittableRandom random = new SplittableRandom(1);
        StringBuilder letters = new StringBuilder();
        for (int at = 0; at < 128 * 1024; at++) {
            letters.append((char) ('a' + random.nextInt(26)));
        }
        return letters.toString();
    }

    private static final int LONGEST_TEXT = 64 * 1024;
    private static final long MOMENT = 1_700_000_000_000L;
}
