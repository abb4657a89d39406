package longwire.jdbc;

import java.sql.SQLException;

/** What went wrong, as longwire is told. Longwire takes the values out of the text. */
final class Fault {
    static final int SQL = 1;
    static final int NO_DRIVER = 2;
    static final int NO_CLASS = 3;
    static final int NOT_A_DRIVER = 4;
    static final int NO_MEMORY = 5;
    static final int OTHER = 6;

    private Fault() {}

    /** No driver of the class path takes the URL. */
    static final class NoDriver extends RuntimeException {
        private static final long serialVersionUID = 1;

        NoDriver(String drivers) {
            super(drivers);
        }
    }

    /** The class that was named is no driver. */
    static final class NotADriver extends RuntimeException {
        private static final long serialVersionUID = 1;

        NotADriver(String name) {
            super(name);
        }
    }

    static Reply reply(int channel, Throwable fault) {
        Reply reply = new Reply(channel, Reply.FAILED);
        SQLException sql = fault instanceof SQLException ? deepest((SQLException) fault) : null;
        reply.tag(kind(fault));
        reply.text(fault.getClass().getName());
        reply.text(sql == null ? null : sql.getSQLState());
        reply.number(sql == null ? 0 : sql.getErrorCode());
        reply.text(text(sql == null ? fault : sql));
        return reply;
    }

    private static int kind(Throwable fault) {
        if (fault instanceof SQLException) {
            return SQL;
        } else if (fault instanceof NoDriver) {
            return NO_DRIVER;
        } else if (fault instanceof ClassNotFoundException) {
            return NO_CLASS;
        } else if (fault instanceof NotADriver) {
            return NOT_A_DRIVER;
        } else if (fault instanceof OutOfMemoryError) {
            return NO_MEMORY;
        }
        return OTHER;
    }

    /** Of a batch that failed the driver's own message repeats the statement; what the server said comes next. */
    private static SQLException deepest(SQLException fault) {
        SQLException next = fault.getNextException();
        return next == null ? fault : next;
    }

    /** The message, and that of what caused it where that says more: drivers hide "connection refused" there. */
    private static String text(Throwable fault) {
        String message = fault.getMessage() == null ? fault.getClass().getSimpleName() : fault.getMessage();
        Throwable cause = fault;
        for (int depth = 0; depth < 8 && cause.getCause() != null; depth++) {
            cause = cause.getCause();
        }
        if (cause == fault || cause.getMessage() == null || message.contains(cause.getMessage())) {
            return message;
        }
        return message + " (" + cause.getMessage() + ")";
    }
}
