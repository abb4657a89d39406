package longwire.jdbc;

/** A frame from longwire. */
final class Request {
    static final int HELLO = 1;
    static final int OPEN = 2;
    static final int EXECUTE = 3;
    static final int INSERT = 4;
    static final int UPDATE = 5;
    static final int AUTOCOMMIT = 6;
    static final int COMMIT = 7;
    static final int ROLLBACK = 8;
    static final int OVERHEAD = 9;
    static final int COLUMNS = 10;
    static final int CLOSE = 11;
    static final int CANCEL = 12;

    final int channel;
    final int type;
    final Body body;

    Request(int channel, int type, Body body) {
        this.channel = channel;
        this.type = type;
        this.body = body;
    }
}
