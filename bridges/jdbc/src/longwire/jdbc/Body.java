package longwire.jdbc;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** The fields of a request, read one after another. */
final class Body {
    private final ByteBuffer bytes;

    Body(byte[] bytes) {
        this.bytes = ByteBuffer.wrap(bytes);
    }

    boolean flag() {
        return bytes.get() != 0;
    }

    int tag() {
        return bytes.get();
    }

    int number() {
        return bytes.getInt();
    }

    long large() {
        return bytes.getLong();
    }

    /** Null where the length is -1. */
    String text() {
        int length = bytes.getInt();
        if (length < 0) {
            return null;
        }
        byte[] text = new byte[Math.min(length, bytes.remaining())];
        bytes.get(text);
        return new String(text, StandardCharsets.UTF_8);
    }

    /** A parameter of a statement. */
    Object value() {
        int tag = tag();
        switch (tag) {
            case 0:
                return null;
            case 1:
                return large();
            case 2:
                return Double.longBitsToDouble(large());
            case 3:
                return text();
            case 4:
                return flag();
            default:
                throw new IllegalArgumentException("no value has tag " + tag);
        }
    }
}
