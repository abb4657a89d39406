package longwire.jdbc;

import java.io.ByteArrayInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * The process: frames come in on stdin, frames go out on stdout, PROTOCOL.md says which. Requests of a channel are answered in
 * their order by a thread of the channel's own. The end of stdin is the end of the process, whatever is under way: who asked is gone.
 */
public final class Bridge {
    /** What both sides must speak. */
    static final int VERSION = 1;

    private final Frames frames;
    private final Map<Integer, Channel> channels = new HashMap<>();

    private Bridge(Frames frames) {
        this.frames = frames;
    }

    public static void main(String[] arguments) {
        Frames frames = new Frames(
                new FileInputStream(FileDescriptor.in), new FileOutputStream(FileDescriptor.out));
        // Drivers print, and some read: neither may meet the frames.
        System.setOut(System.err);
        System.setIn(new ByteArrayInputStream(new byte[0]));
        int status = 0;
        try {
            new Bridge(frames).serve();
        } catch (IOException | RuntimeException fault) {
            System.err.println("longwire-jdbc: " + fault);
            status = 2;
        }
        // Not exit: hooks of drivers may wait for servers.
        Runtime.getRuntime().halt(status);
    }

    private void serve() throws IOException {
        for (Request request = frames.next(); request != null; request = frames.next()) {
            switch (request.type) {
                case Request.HELLO:
                    hello(request);
                    break;
                case Request.CANCEL:
                    cancel(request.channel);
                    break;
                case Request.CLOSE:
                    handOn(request);
                    channels.remove(request.channel);
                    break;
                default:
                    handOn(request);
            }
        }
    }

    private void hello(Request request) throws IOException {
        int version = request.body.number();
        if (version != VERSION) {
            throw new IOException("longwire speaks version " + version + " of the frames, this jar version " + VERSION);
        }
        Reply reply = new Reply(request.channel, Reply.HELLO);
        reply.number(VERSION);
        reply.text(System.getProperty("java.version"));
        frames.send(reply);
    }

    private void cancel(int number) {
        Channel channel = channels.get(number);
        if (channel != null) {
            channel.cancel();
        }
    }

    private void handOn(Request request) {
        channels.computeIfAbsent(request.channel, number -> Channel.start(number, frames)).ask(request);
    }
}
