package longwire.jdbc;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** Frames in both directions. Reading is one thread's; any thread may send. */
final class Frames {
    private static final int LONGEST = 64 * 1024 * 1024;

    private final DataInputStream in;
    private final OutputStream out;

    Frames(InputStream in, OutputStream out) {
        this.in = new DataInputStream(new BufferedInputStream(in, 64 * 1024));
        this.out = out;
    }

    /** The next request; null at the end of the stream, also within a frame. */
    Request next() throws IOException {
        try {
            int length = in.readInt();
            if (length < 5 || length > LONGEST) {
                throw new IOException("a frame of " + length + " bytes is none of longwire's");
            }
            int channel = in.readInt();
            int type = in.readUnsignedByte();
            byte[] body = in.readNBytes(length - 5);
            return body.length < length - 5 ? null : new Request(channel, type, new Body(body));
        } catch (EOFException end) {
            return null;
        }
    }

    /** Sends a frame as one write. */
    synchronized void send(Reply reply) throws IOException {
        out.write(reply.bytes());
        out.flush();
    }
}
