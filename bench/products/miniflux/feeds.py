"""feeds.py PORT: a host of feeds: /N.xml has four entries, N from 0 to 39. It never answers "not modified"."""
import http.server
import sys

WORDS = "database distance latency query index cache release kernel network storage editor garden bicycle recipe river museum".split()


def entry(feed, number):
    text = " ".join(WORDS[(feed * 7 + number * 3 + word * word) % len(WORDS)] for word in range(180))
    link = f"http://10.88.1.1:9000/{feed}/{number}"
    day = f"{number % 28 + 1:02d} Oct 2026 10:{feed:02d}:00 GMT"
    return f"<item><title>{text[:40].title()} {feed}.{number}</title><link>{link}</link><guid>{link}</guid><pubDate>{day}</pubDate><description>{text}</description></item>"


class Feeds(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.strip("/").removesuffix(".xml")
        if name.isdigit():
            items = "".join(entry(int(name), number) for number in range(4))
            body, kind = f'<rss version="2.0"><channel><title>Feed {name}</title><link>http://10.88.1.1:9000/</link>{items}</channel></rss>', "application/rss+xml"
        else:
            body, kind = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><path d="M0 0h1v1z"/></svg>', "image/svg+xml"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), Feeds).serve_forever()
