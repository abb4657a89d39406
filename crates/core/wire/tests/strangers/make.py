#!/usr/bin/env python3
"""Writes the first bytes of protocols that longwire does not decode, as their specifications have them.

    python3 make.py

Each function below is a conversation of several exchanges; it becomes NAME.stream beside this script: `port NUMBER`, then a
line a segment, `C` or `S`, nanoseconds, bytes in hexadecimal. tests/strangers.rs reads them. Names, hosts and passwords are
inventions. A conversation that begins with `S` is one whose server speaks first.
"""

import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).parent
ALL = {}


def conversation(port):
    """Registers a function that gives the segments."""

    def register(function):
        ALL[function.__name__.replace("_", "-")] = (port, function())
        return function

    return register


def C(*parts):
    return ("C", b"".join(parts))


def S(*parts):
    return ("S", b"".join(parts))


def lines(*texts):
    return b"".join(text.encode() + b"\r\n" for text in texts)


def be(fmt, *values):
    return struct.pack(">" + fmt, *values)


def le(fmt, *values):
    return struct.pack("<" + fmt, *values)


# Lines of text.


@conversation(25)
def smtp():
    return [
        S(lines("220 mail.example.org ESMTP ready")),
        C(lines("EHLO client.example.org")),
        S(lines("250-mail.example.org", "250-SIZE 52428800", "250 AUTH PLAIN LOGIN")),
        C(lines("AUTH LOGIN")),
        S(lines("334 VXNlcm5hbWU6")),
        C(lines("YW5uYS1zbXRw")),
        S(lines("334 UGFzc3dvcmQ6")),
        C(lines("c2VjcmV0LXNtdHA=")),
        S(lines("235 2.7.0 Authentication successful")),
        C(lines("MAIL FROM:<anna-smtp@example.org>")),
        S(lines("250 2.1.0 Ok")),
        C(lines("QUIT")),
        S(lines("221 2.0.0 Bye")),
    ]


@conversation(587)
def smtp_auth_plain():
    return [
        S(lines("220 mail.example.org ESMTP")),
        C(lines("AUTH PLAIN AGFubmEtc210cABzZWNyZXQ=")),
        S(lines("235 ok")),
        C(lines("AUTH anna-smtp")),
        S(lines("503 already")),
        C(lines("HELP")),
        S(lines("214 see RFC 5321")),
    ]


@conversation(110)
def pop3():
    return [
        S(lines("+OK POP3 ready <1896.697170952@example.org>")),
        C(lines("AUTH")),
        S(lines("+OK", "PLAIN", ".")),
        C(lines("USER anna-pop")),
        S(lines("+OK")),
        C(lines("PASS secret-pop")),
        S(lines("+OK Logged in.")),
        C(lines("STAT")),
        S(lines("+OK 2 320")),
        C(lines("RETR 1")),
        S(lines("+OK 120 octets", "From: a", "", "text", ".")),
        C(lines("QUIT")),
        S(lines("+OK")),
    ]


@conversation(110)
def pop3_short_answers():
    return [
        S(lines("+OK")),
        C(lines("AUTH anna-pop")),
        S(lines("+OK")),
        C(lines("QUIT")),
        S(lines("+OK")),
    ]


@conversation(143)
def imap():
    return [
        S(lines("* OK [CAPABILITY IMAP4rev1 STARTTLS] ready")),
        C(lines("a001 LOGIN anna-imap secret-imap")),
        S(lines("a001 OK LOGIN completed")),
        C(lines("a002 SELECT INBOX")),
        S(lines("* 18 EXISTS", "* 2 RECENT", "a002 OK [READ-WRITE] SELECT completed")),
        C(lines("a003 FETCH 12 BODY[HEADER]")),
        S(lines("* 12 FETCH (BODY[HEADER] {342}", "Date: x", ")", "a003 OK FETCH completed")),
    ]


@conversation(143)
def imap_tags_like_letters():
    talk = [S(lines("* OK IMAP4 ready"))]
    for tag in ["Q1", "P2", "B3", "D4", "E5", "S6", "H7", "X8", "C9", "F10", "d11", "c12", "f13", "p14"]:
        talk += [C(lines(tag + " NOOP")), S(lines(tag + " OK done"))]
    return talk


@conversation(21)
def ftp():
    return [
        S(lines("220 (vsFTPd 3.0.3)")),
        C(lines("AUTH TLS")),
        S(lines("530 Please login with USER and PASS.")),
        C(lines("USER anonymous")),
        S(lines("331 Please specify the password.")),
        C(lines("PASS guest")),
        S(lines("230 Login successful.")),
        C(lines("TYPE I")),
        S(lines("200 Switching to Binary mode.")),
        C(lines("QUIT")),
        S(lines("221 Goodbye.")),
    ]


@conversation(6667)
def irc():
    return [
        C(lines("NICK anna", "USER anna 0 * :Anna")),
        S(lines(":irc.example.org NOTICE AUTH :*** Looking up your hostname")),
        S(lines("PING :12345")),
        C(lines("PONG :12345")),
        S(lines(":irc.example.org 001 anna :Welcome")),
        C(lines("PING irc.example.org")),
        S(lines(":irc.example.org PONG irc.example.org :irc.example.org")),
        C(lines("INFO")),
        S(lines(":irc.example.org 371 anna :info")),
        C(lines("QUIT :bye")),
        S(lines("ERROR :Closing Link")),
    ]


@conversation(119)
def nntp():
    return [
        S(lines("200 news.example.org ready")),
        C(lines("MODE READER")),
        S(lines("200 ok")),
        C(lines("GROUP comp.lang.c")),
        S(lines("211 3 1 3 comp.lang.c")),
        C(lines("HELP")),
        S(lines("100 help", ".")),
        C(lines("QUIT")),
        S(lines("205 bye")),
    ]


@conversation(11211)
def memcached_text():
    return [
        C(lines("get key-1")),
        S(lines("END")),
        C(lines("set key-1 0 0 5", "hello")),
        S(lines("STORED")),
        C(lines("get key-1")),
        S(lines("VALUE key-1 0 5", "hello", "END")),
        C(lines("incr n 1")),
        S(lines("NOT_FOUND")),
        C(lines("touch key-1 5")),
        S(lines("TOUCHED")),
    ]


@conversation(11211)
def memcached_binary():
    def request(op, key):
        return be("BBHBBHIIQ", 0x80, op, len(key), 0, 0, 0, len(key), 1, 0) + key

    def reply(op, body):
        return be("BBHBBHIIQ", 0x81, op, 0, 0, 0, 0, len(body), 1, 0) + body

    return [
        C(request(0x0B, b"")),
        S(reply(0x0B, b"1.6.9")),
        C(request(0x00, b"key-1")),
        S(reply(0x00, b"")),
        C(request(0x00, b"key-2")),
        S(reply(0x00, b"\0\0\0\0hello")),
    ]


@conversation(554)
def rtsp():
    return [
        C(lines("OPTIONS rtsp://cam.example.org/1 RTSP/1.0", "CSeq: 1", "")),
        S(lines("RTSP/1.0 200 OK", "CSeq: 1", "Public: DESCRIBE, SETUP, PLAY", "")),
        C(lines("DESCRIBE rtsp://cam.example.org/1 RTSP/1.0", "CSeq: 2", "")),
        S(lines("RTSP/1.0 200 OK", "CSeq: 2", "Content-Length: 0", "")),
    ]


@conversation(5060)
def sip():
    head = ["Via: SIP/2.0/TCP a.example.org", "From: <sip:a@example.org>", "To: <sip:b@example.org>", "CSeq: 1 OPTIONS", ""]
    return [
        C(lines("OPTIONS sip:b@example.org SIP/2.0", *head)),
        S(lines("SIP/2.0 200 OK", *head)),
        C(lines("REGISTER sip:example.org SIP/2.0", *head)),
        S(lines("SIP/2.0 401 Unauthorized", *head)),
    ]


@conversation(61613)
def stomp():
    return [
        C(b"CONNECT\naccept-version:1.2\nhost:example.org\n\n\0"),
        S(b"CONNECTED\nversion:1.2\n\n\0"),
        C(b"SEND\ndestination:/queue/a\nreceipt:1\n\nhello\0"),
        S(b"RECEIPT\nreceipt-id:1\n\n\0"),
    ]


@conversation(4222)
def nats():
    return [
        S(lines('INFO {"server_id":"NX","version":"2.9.0","proto":1,"max_payload":1048576}')),
        C(lines('CONNECT {"verbose":true,"user":"anna-nats"}', "PING")),
        S(lines("+OK", "PONG")),
        C(lines("SUB foo 1")),
        S(lines("+OK")),
        C(lines("PUB foo 5", "hello")),
        S(lines("+OK", "MSG foo 1 5", "hello")),
        C(lines("PING")),
        S(lines("PONG")),
    ]


@conversation(2181)
def zookeeper():
    connect = be("iqiq", 0, 0, 30000, 0) + be("i", 16) + bytes(16) + b"\0"
    session = be("iiq", 0, 30000, 0x1234) + be("i", 16) + bytes(range(16)) + b"\0"

    def framed(body):
        return be("i", len(body)) + body

    path = b"/config"
    request = be("ii", 1, 4) + be("i", len(path)) + path + b"\0"
    reply = be("iqi", 1, 42, 0) + be("i", 5) + b"value"
    return [
        C(framed(connect)),
        S(framed(session)),
        C(framed(request)),
        S(framed(reply)),
        C(framed(be("ii", -2, 11))),
        S(framed(be("iqi", -2, 42, 0))),
    ]


@conversation(2181)
def zookeeper_four_letters():
    return [C(b"ruok"), S(b"imok")]


@conversation(5222)
def xmpp():
    return [
        C(b"<?xml version='1.0'?><stream:stream to='example.org' xmlns='jabber:client' version='1.0'>"),
        S(b"<?xml version='1.0'?><stream:stream id='1'><stream:features/>"),
        C(b"<iq type='get' id='1'/>"),
        S(b"<iq type='result' id='1'/>"),
    ]


@conversation(22)
def ssh():
    def packet(kind, length):
        body = bytes([kind]) + bytes((7 * n) & 0xFF for n in range(length - 2))
        return be("IB", length, 6) + body[: length - 1]

    return [
        C(b"SSH-2.0-OpenSSH_9.2\r\n"),
        S(b"SSH-2.0-OpenSSH_9.2p1 Debian\r\n"),
        C(packet(20, 636)),
        S(packet(20, 620)),
        C(packet(30, 44)),
        S(packet(31, 300)),
    ]


@conversation(23)
def telnet():
    return [
        S(b"\xff\xfd\x18\xff\xfd\x20\xff\xfd\x23"),
        C(b"\xff\xfb\x18\xff\xfb\x20"),
        S(b"\xff\xfa\x18\x01\xff\xf0"),
        C(b"\xff\xfa\x18\x00xterm\xff\xf0"),
        S(b"login: "),
        C(b"anna\r\n"),
        S(b"Password: "),
        C(b"secret\r\n"),
        S(b"$ "),
        C(b"info\r\n"),
        S(b"info: command not found\r\n$ "),
    ]


@conversation(79)
def finger():
    return [C(lines("anna")), S(lines("Login: anna    Name: Anna"))]


@conversation(9418)
def git():
    def pkt(text):
        return b"%04x" % (len(text) + 4) + text

    return [
        C(pkt(b"git-upload-pack /a.git\0host=example.org\0")),
        S(pkt(b"7217a7c7e582c46cec22a130adf4b9d7d950fba0 HEAD\0multi_ack\n"), b"0000"),
        C(pkt(b"want 7217a7c7e582c46cec22a130adf4b9d7d950fba0\n"), b"0000", pkt(b"done\n")),
        S(pkt(b"NAK\n"), b"PACK\0\0\0\2\0\0\0\0"),
    ]


@conversation(873)
def rsync():
    return [
        S(b"@RSYNCD: 31.0\n"),
        C(b"@RSYNCD: 31.0\n"),
        C(b"module\n"),
        S(b"@RSYNCD: OK\n"),
        C(b"--server\n--sender\n-vlogDtprze.iLsfxC\n.\nmodule/\n\n"),
        S(b"\x04\0\0\x07\x01\x02\x03\x04"),
    ]


@conversation(5900)
def vnc():
    return [
        S(b"RFB 003.008\n"),
        C(b"RFB 003.008\n"),
        S(b"\x01\x01"),
        C(b"\x01"),
        S(b"\0\0\0\0"),
        C(b"\x01"),
        S(be("HH", 1024, 768), b"\x20\x18\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0", be("I", 4), b"host"),
        C(b"\0\0\0\0\x20\x18\0\1\0\xff\0\xff\0\xff\x10\x08\0\0\0\0"),
        C(b"\x03\0\0\0\0\0\x04\0\x03\0"),
        S(b"\0\0\0\1\0\0\0\0\0\2\0\2\0\0\0\0", bytes(16)),
    ]


# Messages with a length, big endian.


def tpkt(body):
    return be("BBH", 3, 0, len(body) + 4) + body


@conversation(3389)
def rdp():
    cookie = b"Cookie: mstshash=anna\r\n"
    request = bytes([6 + len(cookie) + 8, 0xE0]) + b"\0\0\0\0\0" + cookie + b"\x01\0\x08\0\x03\0\0\0"
    confirm = b"\x0e\xd0\0\0\x12\x34\0\x02\x1f\x08\0\0\0\0\0"[:15]
    mcs = b"\x02\xf0\x80\x7f\x65\x82\x01\x94\x04\x01\x01\x04\x01\x01\x01\x01\xff" + bytes(380)
    return [
        C(tpkt(request)),
        S(tpkt(confirm)),
        C(tpkt(mcs)),
        S(tpkt(b"\x02\xf0\x80\x7f\x66\x82\x01\x45\x0a\x01\0" + bytes(320))),
        C(tpkt(b"\x02\xf0\x80\x04\x01\0\x01\0")),
        C(tpkt(b"\x02\xf0\x80\x28")),
        S(tpkt(b"\x02\xf0\x80\x2e\0\0\x06")),
    ]


@conversation(102)
def s7comm():
    return [
        C(tpkt(b"\x11\xe0\0\0\0\x01\0\xc0\x01\x0a\xc1\x02\x01\0\xc2\x02\x01\x02")),
        S(tpkt(b"\x11\xd0\0\x01\0\x03\0\xc0\x01\x0a\xc1\x02\x01\0\xc2\x02\x01\x02")),
        C(tpkt(b"\x02\xf0\x80\x32\x01\0\0\x04\0\0\x08\0\0\xf0\0\0\x01\0\x01\x01\xe0")),
        S(tpkt(b"\x02\xf0\x80\x32\x03\0\0\x04\0\0\x08\0\0\0\0\xf0\0\0\x01\0\x01\0\xf0")),
        C(tpkt(b"\x02\xf0\x80\x32\x01\0\0\x05\0\0\x0e\0\0\x04\x01\x12\x0a\x10\x02\0\x10\0\x01\x84\0\0\0")),
        S(tpkt(b"\x02\xf0\x80\x32\x03\0\0\x05\0\0\x02\0\x14\0\0\x04\x01\xff\x04\0\x80" + bytes(16))),
    ]


@conversation(102)
def iec_61850_mms():
    return [
        C(tpkt(b"\x11\xe0\0\0\0\x01\0\xc0\x01\x0d\xc2\x02\0\x01\xc1\x02\0\x01")),
        S(tpkt(b"\x11\xd0\0\x01\0\x04\0\xc0\x01\x0d\xc2\x02\0\x01\xc1\x02\0\x01")),
        C(tpkt(b"\x02\xf0\x80\x0d\xb2\x05\x06\x13\x01\0\x16\x01\x02\x14\x02\0\x02" + bytes(160))),
        S(tpkt(b"\x02\xf0\x80\x0e\x85\x05\x06\x13\x01\0\x16\x01\x02\x14\x02\0\x02" + bytes(120))),
        C(tpkt(b"\x02\xf0\x80\x01\0\x01\0\x61\x10\x30\x0e\x02\x01\x03\xa0\x09\xa0\x07\x02\x01\x01\xa2\x02\x80\0")),
        S(tpkt(b"\x02\xf0\x80\x01\0\x01\0\x61\x10\x30\x0e\x02\x01\x03\xa0\x09\xa1\x07\x02\x01\x01\xa2\x02\x80\0")),
    ]


@conversation(1720)
def h323():
    setup = b"\x08\x02\x10\x01\x05\x04\x03\x88\x93\xa5\x28\x05anna\0\x7e\0\x20\x05" + bytes(31)
    return [
        C(tpkt(setup)),
        S(tpkt(b"\x08\x02\x90\x01\x02\x7e\0\x0a\x05\x21\x80\x06\0\x08\x91\x4a\0\x03")),
        S(tpkt(b"\x08\x02\x90\x01\x07\x7e\0\x0a\x05\x22\x80\x06\0\x08\x91\x4a\0\x03")),
        C(tpkt(b"\x08\x02\x10\x01\x5a\x08\x02\x80\x90")),
        S(tpkt(b"\x08\x02\x90\x01\x5a\x08\x02\x80\x90")),
    ]


def kafka(key, version, correlation, body=b"", client=b"logs"):
    head = be("hhi", key, version, correlation) + be("h", len(client)) + client
    return be("i", len(head + body)) + head + body


def kafka_reply(correlation, body):
    return be("ii", len(body) + 4, correlation) + body


@conversation(9092)
def kafka_metadata_2():
    broker = be("i", 1) + be("i", 1) + be("h", 4) + b"kfk1" + be("i", 9092) + be("h", -1) + be("h", -1) + be("ii", 1, 0)
    return [
        C(kafka(3, 2, 1, be("i", -1))),
        S(kafka_reply(1, broker)),
        C(kafka(3, 2, 2, be("i", 1) + be("h", 4) + b"logs")),
        S(kafka_reply(2, broker)),
        C(kafka(3, 1, 3, be("i", 0))),
        S(kafka_reply(3, broker)),
    ]


@conversation(9092)
def kafka_metadata_0():
    broker = be("i", 1) + be("i", 1) + be("h", 4) + b"kfk1" + be("i", 9092) + be("i", 0)
    return [
        C(kafka(3, 0, 0, be("i", 0))),
        S(kafka_reply(0, broker)),
        C(kafka(3, 0, 1, be("i", 0))),
        S(kafka_reply(1, broker)),
    ]


@conversation(9092)
def kafka_versions_and_fetch():
    return [
        C(kafka(18, 0, 1)),
        S(kafka_reply(1, be("hi", 0, 2) + be("hhh", 0, 0, 9) + be("hhh", 1, 0, 11))),
        C(kafka(1, 4, 2, be("iiii", -1, 500, 1, 1 << 20) + b"\0" + be("i", 0))),
        S(kafka_reply(2, be("ii", 0, 0))),
        C(kafka(0, 3, 3, be("hhi", -1, 1, 1500) + be("i", 0))),
        S(kafka_reply(3, be("ii", 0, 0))),
    ]


def ldp(kind, body, transport=1):
    message = be("HHI", kind, len(body) + 4, transport) + body
    return be("HH", 1, len(message) + 6) + bytes([10, 0, 0, 1]) + b"\0\0" + message


@conversation(646)
def ldp_sessions():
    parameters = be("HH", 0x0500, 14) + be("HH", 1, 180) + b"\0\0" + be("H", 0) + bytes([10, 0, 0, 2]) + b"\0\0"
    return [
        C(ldp(0x0200, parameters)),
        S(ldp(0x0200, parameters, 2), ldp(0x0201, b"", 3)),
        C(ldp(0x0201, b"", 4)),
        S(ldp(0x0300, be("HHH", 0x0101, 6, 1) + bytes([10, 0, 0, 2]), 5)),
        C(ldp(0x0400, be("HH", 0x0100, 8) + b"\x02\0\x01\x20\x0a\0\0\x01" + be("HHI", 0x0200, 4, 3), 6)),
        S(ldp(0x0201, b"", 7)),
    ]


def modbus(transaction, body):
    return be("HHHB", transaction, 0, len(body) + 1, 1) + body


@conversation(502)
def modbus_tcp():
    talk = []
    for transaction in range(8):
        talk.append(C(modbus(transaction, be("BHH", 3, 0, 2))))
        talk.append(S(modbus(transaction, be("BBHH", 3, 4, transaction, 7))))
    return talk


@conversation(502)
def modbus_tcp_small_writes():
    talk = []
    for transaction in (1, 2, 9, 12, 35, 49, 4):
        talk.append(C(modbus(transaction, be("BHH", 6, 1, transaction))))
        talk.append(S(modbus(transaction, be("BHH", 6, 1, transaction))))
    return talk


def cip(command, session, body=b"", status=0):
    return le("HHII", command, len(body), session, status) + b"longwire" + le("I", 0) + body


@conversation(44818)
def ethernet_ip():
    item = le("IHHHHHH", 0, 5, 2, 0, 0, 0xB2, 6) + b"\x01\x02\x20\x01\x24\x01"
    answer = le("IHHHHHH", 0, 5, 2, 0, 0, 0xB2, 10) + b"\x81\0\0\0\x01\0\x0e\0\x36\0"
    return [
        C(cip(0x63, 0)),
        S(cip(0x63, 0, le("H", 1) + le("HH", 0x0C, 20) + bytes(20))),
        C(cip(0x65, 0, le("HH", 1, 0))),
        S(cip(0x65, 7, le("HH", 1, 0))),
        C(cip(0x6F, 7, item)),
        S(cip(0x6F, 7, answer)),
        C(cip(0x70, 7, item)),
        S(cip(0x70, 7, answer)),
        C(cip(0x66, 7)),
    ]


def cql(version, stream, opcode, body=b""):
    head = be("BBhBi", version, 0, stream, opcode, len(body))
    return head + body


def string_map(**pairs):
    out = be("H", len(pairs))
    for key, value in pairs.items():
        out += be("H", len(key)) + key.encode() + be("H", len(value)) + value.encode()
    return out


def cassandra(version):
    query = b"SELECT * FROM system.local"
    body = be("i", len(query)) + query + be("HB", 1, 0)
    supported = be("H", 1) + be("H", 11) + b"CQL_VERSION" + be("H", 1) + be("H", 5) + b"3.4.5"
    answer = version | 0x80
    return [
        C(cql(version, 0, 5)),
        S(cql(answer, 0, 6, supported)),
        C(cql(version, 0, 1, string_map(CQL_VERSION="3.0.0"))),
        S(cql(answer, 0, 2)),
        C(cql(version, 1, 11, be("H", 1) + be("H", 13) + b"SCHEMA_CHANGE")),
        S(cql(answer, 1, 2)),
        C(cql(version, 2, 7, body)),
        S(cql(answer, 2, 8, be("iii", 2, 1, 1) + be("H", 6) + b"system" + be("H", 5) + b"local" + bytes(40))),
        C(cql(version, 3, 7, body)),
        S(cql(answer, 3, 8, be("i", 1))),
    ]


@conversation(9042)
def cassandra_3():
    return cassandra(3)


@conversation(9042)
def cassandra_4():
    return cassandra(4)


@conversation(9042)
def cassandra_5():
    talk = cassandra(5)[:4]

    def segment(inner):
        head = le("I", len(inner) | 1 << 17)[:3]
        return head + b"\x11\x22\x33" + inner + le("I", zlib.crc32(inner))

    talk += [C(segment(cql(5, 1, 7, bytes(40)))), S(segment(cql(0x85, 1, 8, be("i", 1))))]
    talk += [C(segment(cql(5, 2, 7, bytes(60)))), S(segment(cql(0x85, 2, 8, be("i", 1))))]
    return talk


@conversation(3868)
def diameter():
    def message(flags, command, body):
        return b"\x01" + be("I", len(body) + 20)[1:] + bytes([flags]) + be("I", command)[1:] + be("III", 0, 1, 2) + body

    host = be("I", 264) + b"\x40\0\0\x13" + b"a.example.o" + b"\0"
    return [
        C(message(0x80, 257, host)),
        S(message(0, 257, be("I", 268) + b"\x40\0\0\x0c" + be("I", 2001))),
        C(message(0x80, 280, host)),
        S(message(0, 280, be("I", 268) + b"\x40\0\0\x0c" + be("I", 2001))),
    ]


@conversation(53)
def dns_over_tcp():
    name = b"\x07example\x03org\0"
    talk = []
    for number in range(1, 5):
        query = be("HHHHHH", number, 0x0100, 1, 0, 0, 0) + name + be("HH", 1, 1)
        answer = be("HHHHHH", number, 0x8180, 1, 1, 0, 0) + name + be("HH", 1, 1) + be("HHHIH", 0xC00C, 1, 1, 300, 4) + bytes(4)
        talk += [C(be("H", len(query)) + query), S(be("H", len(answer)) + answer)]
    return talk


@conversation(179)
def bgp():
    marker = b"\xff" * 16
    opened = marker + be("HBBHHIB", 29, 1, 4, 65001, 180, 0x0A000001, 0)
    alive = marker + be("HB", 19, 4)
    return [C(opened), S(opened, alive), C(alive), S(marker + be("HBHH", 23, 2, 0, 0)), C(alive), S(alive)]


@conversation(389)
def ldap():
    bind = b"\x30\x1c\x02\x01\x01\x60\x17\x02\x01\x03\x04\x0acn=anna,dc\x80\x06secret"
    return [
        C(bind),
        S(b"\x30\x0c\x02\x01\x01\x61\x07\x0a\x01\0\x04\0\x04\0"),
        C(b"\x30\x25\x02\x01\x02\x63\x20\x04\x00\x0a\x01\0\x0a\x01\0\x02\x01\0\x02\x01\0\x01\x01\0\x87\x0bobjectclass\x30\0"),
        S(b"\x30\x0c\x02\x01\x02\x65\x07\x0a\x01\0\x04\0\x04\0"),
        C(b"\x30\x05\x02\x01\x03\x42\0"),
    ]


@conversation(445)
def smb_2():
    def message(command, body, reply=0):
        head = b"\xfeSMB" + le("HHIHHIIQ", 64, 0, 0, command, 1, reply, 0, 1) + bytes(32)
        return be("I", len(head) + len(body)) + head + body

    return [
        C(message(0, le("HHHHI", 36, 2, 1, 0, 0x7F) + bytes(28))),
        S(message(0, le("HHHH", 65, 1, 0x0311, 0) + bytes(60), 1)),
        C(message(1, le("HBBIIHHQ", 25, 0, 1, 0, 0, 88, 74, 0) + bytes(74))),
        S(message(1, le("HHHH", 9, 0, 72, 0), 1)),
        C(message(3, le("HHHH", 9, 0, 72, 16) + bytes(16))),
        S(message(3, le("HBBIII", 16, 1, 0, 0, 0, 0), 1)),
    ]


@conversation(139)
def netbios_session():
    def smb_1(command, reply=0):
        return b"\xffSMB" + bytes([command]) + bytes(4) + bytes([reply]) + bytes(22) + b"\0\0\0"

    def framed(body):
        return be("BBH", 0, 0, len(body)) + body

    return [
        C(be("BBH", 0x81, 0, 68) + b"\x20" + b"CK" * 16 + b"\0\x20" + b"EB" * 16 + b"\0"),
        S(b"\x82\0\0\0"),
        C(framed(smb_1(0x72))),
        S(framed(smb_1(0x72, 0x80))),
        C(framed(smb_1(0x73))),
        S(framed(smb_1(0x73, 0x80))),
    ]


@conversation(2049)
def nfs():
    def record(body):
        return be("I", 0x80000000 | len(body)) + body

    def call(xid, procedure, body=b""):
        return record(be("IIIIII", xid, 0, 2, 100003, 3, procedure) + bytes(16) + body)

    def reply(xid, body=b""):
        return record(be("III", xid, 1, 0) + bytes(8) + be("I", 0) + body)

    return [
        C(call(1, 0)),
        S(reply(1)),
        C(call(2, 1, be("I", 32) + bytes(32))),
        S(reply(2, bytes(88))),
        C(call(3, 6, be("I", 32) + bytes(32) + be("QI", 0, 4096))),
        S(reply(3, bytes(200))),
    ]


@conversation(3260)
def iscsi():
    def pdu(opcode, data, reply=False):
        pad = -len(data) % 4
        return bytes([opcode, 0x87]) + b"\0\0" + be("I", len(data)) + bytes(40) + data + bytes(pad)

    return [
        C(pdu(0x43, b"InitiatorName=iqn.2020-01.org.example:a\0SessionType=Discovery\0")),
        S(pdu(0x23, b"TargetPortalGroupTag=1\0AuthMethod=None\0")),
        C(pdu(0x04, b"SendTargets=All\0")),
        S(pdu(0x24, b"TargetName=iqn.2020-01.org.example:b\0")),
    ]


@conversation(104)
def dicom():
    associate = be("HH", 1, 0) + b"LONGWIRE        " + b"ARCHIVE         " + bytes(32) + b"\x10\0\0\x15" + b"1.2.840.10008.3.1.1.1"

    def pdu(kind, body):
        return be("BBI", kind, 0, len(body)) + body

    command = be("I", 70) + b"\x01\x03" + b"\0\0\0\0\x04\0\0\0\x38\0\0\0" + bytes(52)
    return [
        C(pdu(1, associate)),
        S(pdu(2, associate)),
        C(pdu(4, command)),
        S(pdu(4, command)),
        C(pdu(5, bytes(4))),
        S(pdu(6, bytes(4))),
    ]


@conversation(1935)
def rtmp():
    noise = bytes((n * 37) & 0xFF for n in range(1528))
    connect = b"\x03\0\0\0\0\0\x20\x14\0\0\0\0\x02\0\x07connect\0\x3f\xf0\0\0\0\0\0\0\x03\0\x03app\x02\0\x04live"
    return [
        C(b"\x03", bytes(8), noise),
        S(b"\x03", bytes(8), noise, bytes(8), noise),
        C(bytes(8), noise, connect),
        S(b"\x02\0\0\0\0\0\x04\x05\0\0\0\0\0\x26\x25\xa0"),
        C(b"\x02\0\0\0\0\0\x04\x05\0\0\0\0\0\x26\x25\xa0"),
        S(b"\x03\0\0\0\0\0\x10\x14\0\0\0\0\x02\0\x07_result\0\x3f\xf0\0"),
    ]


@conversation(6881)
def bittorrent():
    hello = b"\x13BitTorrent protocol" + bytes(8) + bytes(range(20)) + b"-LW0001-" + bytes(12)
    return [
        C(hello),
        S(hello, be("IB", 3, 5) + b"\xff\xf0"),
        C(be("IB", 1, 2)),
        S(be("IB", 1, 1)),
        C(be("IBIII", 13, 6, 0, 0, 64)),
        S(be("IBII", 73, 7, 0, 0) + bytes(64)),
    ]


@conversation(8333)
def bitcoin():
    def message(command, body):
        return b"\xf9\xbe\xb4\xd9" + command.ljust(12, b"\0") + le("I", len(body)) + b"\x5d\xf6\xe0\xe2" + body

    return [
        C(message(b"version", le("iQQ", 70015, 1, 0) + bytes(66))),
        S(message(b"version", le("iQQ", 70015, 1, 0) + bytes(66)), message(b"verack", b"")),
        C(message(b"verack", b"")),
        C(message(b"ping", bytes(8))),
        S(message(b"pong", bytes(8))),
    ]


@conversation(20000)
def dnp_3():
    def link(control, body):
        return b"\x05\x64" + bytes([len(body) + 5, control]) + le("HHH", 1, 1024, 0x1234) + body + b"\xaa\xbb"

    return [
        C(link(0xC4, b"\xc0\xc0\x01\x3c\x02\x06\x3c\x03\x06")),
        S(link(0x44, b"\xc0\xc0\x81\0\0\x01\x01\0\0\x03")),
        C(link(0xC4, b"\xc1\xc1\x01\x3c\x01\x06")),
        S(link(0x44, b"\xc1\xc1\x81\0\0")),
    ]


@conversation(2404)
def iec_104():
    return [
        C(b"\x68\x04\x07\0\0\0"),
        S(b"\x68\x04\x0b\0\0\0"),
        C(b"\x68\x0e\0\0\0\0\x64\x01\x06\0\x01\0\0\0\0\x14"),
        S(b"\x68\x0e\0\0\x02\0\x64\x01\x07\0\x01\0\0\0\0\x14"),
        C(b"\x68\x04\x01\0\x02\0"),
        S(b"\x68\x0e\x02\0\x02\0\x64\x01\x0a\0\x01\0\0\0\0\x14"),
    ]


@conversation(4840)
def opc_ua():
    url = b"opc.tcp://example.org:4840"
    hello = b"HELF" + le("I", 32 + len(url)) + le("IIIIII", 0, 65536, 65536, 0, 0, len(url)) + url
    ack = b"ACKF" + le("I", 28) + le("IIIII", 0, 65536, 65536, 0, 0)
    policy = b"http://opcfoundation.org/UA/SecurityPolicy#None"
    opn = b"OPNF" + le("II", 24 + len(policy) + 60, 0) + le("I", len(policy)) + policy + b"\xff" * 8 + bytes(60)
    return [C(hello), S(ack), C(opn), S(opn), C(b"MSGF" + le("I", 40) + bytes(32)), S(b"MSGF" + le("I", 60) + bytes(52))]


@conversation(8583)
def iso_8583():
    def message(kind, fields):
        body = kind + b"\x72\x30\x04\x80\x08\xc0\x80\0" + fields
        return be("H", len(body)) + body

    return [
        C(message(b"0800", b"0822110000000001001")),
        S(message(b"0810", b"082211000000000100100")),
        C(message(b"0200", b"164111111111111111000000000000001000")),
        S(message(b"0210", b"16411111111111111100000000000000100000")),
    ]


# Messages with a length, little endian, and others.


def mqtt(kind, body):
    return bytes([kind, len(body)]) + body


@conversation(1883)
def mqtt_3():
    return [
        C(mqtt(0x10, b"\0\x04MQTT\x04\xc2\0\x3c\0\x04lw-1\0\x04anna\0\x06secret")),
        S(mqtt(0x20, b"\0\0")),
        C(mqtt(0x82, b"\0\x01\0\x05a/b/c\x00")),
        S(mqtt(0x90, b"\0\x01\0")),
        C(mqtt(0x32, b"\0\x03a/b\0\x02hello")),
        S(mqtt(0x40, b"\0\x02")),
        C(mqtt(0xC0, b"")),
        S(mqtt(0xD0, b"")),
    ]


@conversation(1883)
def mqtt_3_1():
    return [
        C(mqtt(0x10, b"\0\x06MQIsdp\x03\x02\0\x3c\0\x03lw1")),
        S(mqtt(0x20, b"\0\0")),
        C(mqtt(0x30, b"\0\x03a/bhello")),
        C(mqtt(0xC0, b"")),
        S(mqtt(0xD0, b"")),
        C(mqtt(0xE0, b"")),
    ]


@conversation(1883)
def mqtt_5():
    return [
        C(mqtt(0x10, b"\0\x04MQTT\x05\x02\0\x3c\x05\x11\0\0\0\x0a\0\x03lw5")),
        S(mqtt(0x20, b"\0\0\x03\x22\0\x0a")),
        C(mqtt(0x82, b"\0\x01\0\0\x03a/b\x02")),
        S(mqtt(0x90, b"\0\x01\0\x02")),
        S(mqtt(0x30, b"\0\x03a/b\0hello")),
        C(mqtt(0xC0, b"")),
        S(mqtt(0xD0, b"")),
    ]


@conversation(9300)
def elasticsearch_transport():
    def message(request, status, body):
        return b"ES" + be("IQBI", len(body) + 13, request, status, 7170099) + body

    talk = []
    for number in range(1, 6):
        talk.append(C(message(number, 8, b"\0\0\0\x1c\0\0\0\x16internal:tcp/handshake\0\x04\xb3\xe9\xb5\x03")))
        talk.append(S(message(number, 9, b"\0\0\0\x02\0\0\xb3\xe9\xb5\x03")))
    talk += [C(b"ES\xff\xff\xff\xff"), S(b"ES\xff\xff\xff\xff")]
    return talk


@conversation(5672)
def amqp_0_9():
    def frame(kind, channel, body):
        return be("BHI", kind, channel, len(body)) + body + b"\xce"

    return [
        C(b"AMQP\0\0\x09\x01"),
        S(frame(1, 0, be("HHBB", 10, 10, 0, 9) + be("I", 0) + be("I", 5) + b"PLAIN" + be("I", 5) + b"en_US")),
        C(frame(1, 0, be("HH", 10, 11) + be("I", 0) + b"\x05PLAIN" + be("I", 12) + b"\0anna\0secret" + b"\x05en_US")),
        S(frame(1, 0, be("HHHIH", 10, 30, 2047, 131072, 60))),
        C(frame(1, 0, be("HHHIH", 10, 31, 2047, 131072, 60)), frame(1, 0, be("HH", 10, 40) + b"\x01/\0\0")),
        S(frame(1, 0, be("HH", 10, 41) + b"\0")),
        C(frame(8, 0, b"")),
        S(frame(8, 0, b"")),
    ]


@conversation(5672)
def amqp_1_0():
    return [
        C(b"AMQP\x03\x01\0\0"),
        S(b"AMQP\x03\x01\0\0", be("IBBH", 26, 2, 1, 0) + b"\0\x53\x40\xc0\x0a\x01\xe0\x07\x01\xb3\0\0\0\x05PLAIN"[:18]),
        C(be("IBBH", 20, 2, 1, 0) + b"\0\x53\x41\xc0\x05\x01\xa3\x02ab\0\0"),
        S(be("IBBH", 16, 2, 1, 0) + b"\0\x53\x44\xc0\x03\x01\x50\0"),
    ]


@conversation(3301)
def tarantool():
    greeting = b"Tarantool 2.10.0 (Binary) 7170b4fa-9f54-4d0b-a1a7-000000000000".ljust(63) + b"\n"
    salt = b"vaoqRAXJGMRaqUUmYNRCXYlIRqHLg1ALRcrYzFz1Vq4=".ljust(63) + b"\n"
    return [
        S(greeting, salt),
        C(b"\xce\0\0\0\x06\x82\0\x40\x01\x01\x80"),
        S(b"\xce\0\0\0\x18\x83\0\xce\0\0\0\0\x01\xcf\0\0\0\0\0\0\0\x01\x05\xce\0\0\0\x50\x80"),
        C(b"\xce\0\0\0\x06\x82\0\x40\x01\x02\x80"),
        S(b"\xce\0\0\0\x18\x83\0\xce\0\0\0\0\x01\xcf\0\0\0\0\0\0\0\x02\x05\xce\0\0\0\x50\x80"),
    ]


@conversation(3000)
def aerospike():
    def message(kind, body):
        return be("BB", 2, kind) + be("Q", len(body))[2:] + body

    return [
        C(message(1, b"node\n")),
        S(message(1, b"node\tBB9020011AC4202\n")),
        C(message(1, b"build\nfeatures\n")),
        S(message(1, b"build\t5.7.0\nfeatures\tpeers;truncate\n")),
        C(message(3, b"\x16\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0" + be("IB", 5, 0) + b"test" + be("IB", 5, 1) + b"demo")),
        S(message(3, b"\x16\0\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")),
    ]


@conversation(7687)
def neo4j_bolt():
    def chunk(body):
        return be("H", len(body)) + body + b"\0\0"

    return [
        C(b"\x60\x60\xb0\x17" + be("IIII", 0x0404, 0x0304, 0x0204, 3)),
        S(be("I", 0x0404)),
        C(chunk(b"\xb1\x01\xa2\x86scheme\x85basic\x89principal\x84anna")),
        S(chunk(b"\xb1\x70\xa1\x86server\x8bNeo4j/4.4.0")),
        C(chunk(b"\xb3\x10\x88RETURN 1\xa0\xa0"), chunk(b"\xb1\x3f\xa1\x81n\xff")),
        S(chunk(b"\xb1\x70\xa1\x86fields\x91\x811"), chunk(b"\xb1\x71\x91\x01"), chunk(b"\xb1\x70\xa0")),
    ]


@conversation(9000)
def clickhouse_native():
    def text(value):
        return bytes([len(value)]) + value

    hello = b"\0" + text(b"ClickHouse client") + b"\x17\x08" + b"\xa4\xa9\x03" + text(b"default") + text(b"default") + text(b"")
    return [
        C(hello),
        S(b"\0" + text(b"ClickHouse") + b"\x17\x08" + b"\xa4\xa9\x03" + text(b"UTC") + text(b"db1") + b"\x01"),
        C(b"\x04"),
        S(b"\x04"),
        C(b"\x01" + text(b"q-1") + b"\x01" + text(b"") + text(b"q-1") + b"\x00\x02\x00" + text(b"SELECT 1")),
        S(b"\x01\0\x01\0\x02\xff\xff\xff\xff\0\x01\0" + text(b"1") + text(b"UInt8")),
        C(b"\x04"),
        S(b"\x04"),
    ]


@conversation(9090)
def thrift():
    def message(kind, name, number, body):
        inner = be("I", 0x80010000 | kind) + be("I", len(name)) + name + be("I", number) + body
        return be("I", len(inner)) + inner

    return [
        C(message(1, b"getUser", 1, b"\x08\0\x01\0\0\0\x07\0")),
        S(message(2, b"getUser", 1, b"\x0b\0\0\0\0\0\x04anna\0")),
        C(message(1, b"ping", 2, b"\0")),
        S(message(2, b"ping", 2, b"\0")),
    ]


@conversation(6000)
def x11():
    return [
        C(b"l\0" + le("HHHHH", 11, 0, 18, 16, 0) + b"MIT-MAGIC-COOKIE-1\0\0" + bytes(range(16))),
        S(b"\x01\0" + le("HHH", 11, 0, 40) + bytes(160)),
        C(b"\x62\0" + le("HHH", 5, 12, 0) + b"BIG-REQUESTS"),
        S(b"\x01\0\x01\0\0\0\0\0\x01\x84" + bytes(22)),
        C(b"\x84\0\x01\0"),
        S(b"\x01\0\x02\0\0\0\0\0\xff\xff\x3f\0" + bytes(20)),
    ]


@conversation(1080)
def socks_5():
    return [
        C(b"\x05\x01\0"),
        S(b"\x05\0"),
        C(b"\x05\x01\0\x01\x0a\0\0\x01\x15\x38"),
        S(b"\x05\0\0\x01\0\0\0\0\0\0"),
        C(b"hello"),
        S(b"world"),
    ]


@conversation(1080)
def socks_4():
    return [C(b"\x04\x01\0\x50\x0a\0\0\x01anna\0"), S(b"\0\x5a\0\0\0\0\0\0"), C(b"hello"), S(b"world")]


@conversation(515)
def lpd():
    return [C(b"\x02lp\n"), S(b"\0"), C(b"\x0212 cfA001host\n"), S(b"\0"), C(b"Hhost\nPanna\n\0"), S(b"\0")]


@conversation(1723)
def pptp():
    def control(kind, body):
        return be("HHIHH", len(body) + 12, 1, 0x1A2B3C4D, kind, 0) + body

    return [
        C(control(1, be("HHIIHH", 0x0100, 0, 3, 3, 0, 0) + bytes(128))),
        S(control(2, be("HBBIIHH", 0x0100, 1, 0, 3, 3, 0, 0) + bytes(128))),
        C(control(5, be("I", 1))),
        S(control(6, be("IBBH", 1, 1, 0, 0))),
    ]


@conversation(6633)
def openflow():
    return [
        C(be("BBHI", 4, 0, 8, 1)),
        S(be("BBHI", 4, 0, 8, 1), be("BBHI", 4, 5, 8, 2)),
        C(be("BBHI", 4, 6, 32, 2) + bytes(24)),
        S(be("BBHI", 4, 2, 8, 3)),
        C(be("BBHI", 4, 3, 8, 3)),
        S(be("BBHI", 4, 2, 8, 4)),
        C(be("BBHI", 4, 3, 8, 4)),
    ]


@conversation(2775)
def smpp():
    def pdu(command, number, body=b""):
        return be("IIII", len(body) + 16, command, 0, number) + body

    return [
        C(pdu(9, 1, b"anna\0secret\0\0\x34\0\0\0")),
        S(pdu(0x80000009, 1, b"smsc\0")),
        C(pdu(4, 2, b"\0\0\0a\0\0\0b\0\0\0\0\0\0\0\0\0\0\x05hello")),
        S(pdu(0x80000004, 2, b"1\0")),
        C(pdu(0x15, 3)),
        S(pdu(0x80000015, 3)),
    ]


@conversation(3632)
def distcc():
    return [
        C(b"DIST00000001ARGC00000002ARGV00000002ccARGV00000002-cDOTI00000005int a"),
        S(b"DONE00000001STAT00000000SERR00000000SOUT00000000DOTO00000004\x7fELF"),
        C(b"DIST00000001ARGC00000001ARGV00000002cc"),
        S(b"DONE00000001STAT00000100"),
    ]


@conversation(8009)
def ajp():
    def to_server(body):
        return b"\x12\x34" + be("H", len(body)) + body

    def to_client(body):
        return b"AB" + be("H", len(body)) + body

    request = b"\x02\x02\0\x08HTTP/1.1\0\0\x01/\0\0\x09127.0.0.1\0\0\x04host\0\0\x04host\0\0\x50\0\0\0\xff"
    return [
        C(to_server(request)),
        S(to_client(b"\x04\0\xc8\0\x02OK\0\0\0"), to_client(b"\x03\0\x05hello\0"), to_client(b"\x05\x01")),
        C(to_server(b"\x0a")),
        S(to_client(b"\x09")),
    ]


@conversation(1521)
def unknown_with_lengths_16():
    """An invention: a length of two bytes and a type, as many industrial protocols have."""
    talk = []
    for number in range(1, 7):
        talk.append(C(be("HHBBH", 12, 0, 6, 0, 0) + be("HBB", 0, 9, number)))
        talk.append(S(be("HHBBH", 13, 0, 6, 0, 0) + be("HBBB", 0, 0, number, 1)))
    return talk


@conversation(5432)
def unknown_with_tags():
    """An invention: a letter and a length of four bytes, and a body that is none of PostgreSQL's."""
    talk = []
    for number in range(1, 7):
        talk.append(C(b"D" + be("I", 12) + be("II", number, 7)))
        talk.append(S(b"D" + be("I", 16) + be("III", number, 7, 9)))
    return talk


@conversation(3306)
def unknown_with_lengths_24():
    """An invention: a length of three bytes, least significant first, and a number."""
    talk = []
    for number in range(6):
        talk.append(C(le("I", 9)[:3] + bytes([number]) + b"\x03request" + b"\0"))
        talk.append(S(le("I", 7)[:3] + bytes([number]) + b"\0answer"))
    return talk


def main():
    for path in HERE.glob("*.stream"):
        path.unlink()
    for name, (port, segments) in sorted(ALL.items()):
        text = [f"port {port}"]
        for place, (side, data) in enumerate(segments):
            text.append(f"{side} {place * 1_000_000} {data.hex()}")
        (HERE / f"{name}.stream").write_text("\n".join(text) + "\n")


main()
