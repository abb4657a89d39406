package longwire.jdbc;

import java.io.IOException;
import java.sql.SQLException;

/** What a request came to. */
final class Done {
    long nanos;
    long rows;
    long changed;
    /** Bytes of the heap that were in use at the fullest moment beyond those at the start; -1 when nobody weighed. */
    long heap = -1;
    /** Of a result that is kept: names of its columns, the values of its last row. */
    String[] names = {};
    String[] values = {};

    /** Something that is timed. */
    interface Call {
        void run() throws SQLException;
    }

    static Done timed(Call call) throws SQLException {
        Done done = new Done();
        long began = System.nanoTime();
        call.run();
        done.nanos = System.nanoTime() - began;
        return done;
    }

    Reply reply(int channel) throws IOException {
        Reply reply = new Reply(channel, Reply.DONE);
        reply.large(nanos);
        reply.large(rows);
        reply.large(changed);
        reply.large(heap);
        reply.number(names.length);
        for (int column = 0; column < names.length; column++) {
            reply.text(names[column]);
            reply.text(column < values.length ? values[column] : null);
        }
        return reply;
    }
}
