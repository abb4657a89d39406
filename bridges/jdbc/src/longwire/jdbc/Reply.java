package longwire.jdbc;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** A frame to longwire, written field by field. */
final class Reply {
    static final int HELLO = 65;
    static final int OPENED = 66;
    static final int SAMPLES = 67;
    static final int DONE = 68;
    static final int FAILED = 69;
    static final int COLUMNS = 70;

    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(64);

    Reply(int channel, int type) {
        number(0);
        number(channel);
        tag(type);
    }

    void tag(int value) {
        bytes.write(value);
    }

    void number(int value) {
        bytes.writeBytes(ByteBuffer.allocate(4).putInt(value).array());
    }

    void large(long value) {
        bytes.writeBytes(ByteBuffer.allocate(8).putLong(value).array());
    }

    void text(String value) {
        if (value == null) {
            number(-1);
            return;
        }
        byte[] encoded = value.getBytes(StandardCharsets.UTF_8);
        number(encoded.length);
        bytes.writeBytes(encoded);
    }

    byte[] bytes() {
        byte[] frame = bytes.toByteArray();
        ByteBuffer.wrap(frame).putInt(frame.length - 4);
        return frame;
    }
}
