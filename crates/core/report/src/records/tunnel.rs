//! Records of a tunnel's end: `tunnel`, `tunnel_way` (one direction), `notice`.

use model::{Direction, Timestamp, TunnelDirection, TunnelTotals};

record! {
    TunnelRecord(end: &'a str, totals: &'a TunnelTotals) {
        end: end,
        ..totals: totals,
        processors: totals.processors(),
    }
}

record! {
    TunnelDirectionRecord(direction: Direction, way: &'a TunnelDirection) {
        direction: &direction,
        payload_bytes: way.payload_bytes,
        tunnel_bytes: way.tunnel_bytes,
        ratio: way.ratio(),
        chunks: way.chunks,
        stored_chunks: way.stored_chunks,
        level_payload_bytes: way.is_sent_here().then_some(&way.payload_bytes_at),
        codec_ns: way.is_sent_here().then_some(way.codec_time),
        stalls: way.stalls,
        stalled_ns: way.stalled,
        reader_stalls: way.reader_stalls,
    }
}

record! {
    NoticeRecord(at: Timestamp, text: &'a str) {
        at_ns: at.as_nanos(),
        text: text,
    }
}
