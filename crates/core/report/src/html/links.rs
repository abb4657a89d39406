//! Emulated links, requested and realised.

use super::markup::{DASH, Escaped, count, cut, small_print, time};
use super::predicted::rate_words;
use model::{Direction, LinkDirectionOutcome, LinkOutcome, PerDirection};
use std::fmt::Write;
use std::time::Duration;

pub fn section(links: &[LinkOutcome], out: &mut String) {
    if links.is_empty() {
        return;
    }
    out.push_str(
        "<section aria-labelledby=\"h-links\">\n<h2 id=\"h-links\">Emulated links, requested and delivered</h2>\n<table class=\"stack\">\n\
         <thead><tr><th scope=\"col\">link</th><th scope=\"col\" class=\"n\">rtt requested</th><th scope=\"col\" class=\"n\">error, median</th>\
         <th scope=\"col\" class=\"n\">error, p99</th><th scope=\"col\" class=\"n\">floor</th><th scope=\"col\">direction</th>\
         <th scope=\"col\" class=\"n\">rate requested</th><th scope=\"col\" class=\"n\">realised</th><th scope=\"col\" class=\"n\">packets</th>\
         <th scope=\"col\" class=\"n\">dropped</th></tr></thead>\n",
    );
    for link in links.iter().take(SHOWN) {
        row(link, out);
    }
    out.push_str("</table>\n");
    let more = match links.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("And {more} more. "),
    };
    small_print(
        &format!(
            "{more}Error: how much longer a round trip over the link took than requested, from packets that waited for their time. Floor: \
             this machine's own addition to a round trip through a link without delay. Smaller differences cannot be measured. A dash: \
             too few packets, or no limit to reach. Dropped: by a full queue, by the requested random loss, during the requested outage."
        ),
        out,
    );
    out.push_str("</section>\n");
}

fn row(link: &LinkOutcome, out: &mut String) {
    let name = cut(&link.name, MAX_NAME_LEN);
    let asked = cut(&link.asked, MAX_NAME_LEN);
    let _ = write!(
        out,
        "<tbody><tr><th scope=\"row\" rowspan=\"2\">{} <code>{}</code></th><td class=\"n\" rowspan=\"2\" data-label=\"rtt requested\">{}</td>\
         <td class=\"n\" rowspan=\"2\" data-label=\"error, median\">{}</td><td class=\"n\" rowspan=\"2\" data-label=\"error, p99\">{}</td>\
         <td class=\"n\" rowspan=\"2\" data-label=\"floor\">{}</td>",
        Escaped(&name),
        Escaped(&asked),
        time(link.rtt),
        signed(link.rtt_error_p50_ns),
        signed(link.rtt_error_p99_ns),
        link.floor.map_or_else(|| DASH.to_owned(), time),
    );
    direction("to server", &link.directions[Direction::ClientToServer], out);
    out.push_str("<tr>");
    direction("to client", &link.directions[Direction::ServerToClient], out);
    out.push_str("</tbody>\n");
}

fn direction(name: &str, direction: &LinkDirectionOutcome, out: &mut String) {
    let dropped = [
        (direction.dropped_by_queue, "queue"),
        (direction.dropped_by_loss, "loss"),
        (direction.dropped_by_outage, "outage"),
    ];
    let causes: Vec<String> = dropped
        .iter()
        .filter(|(packets, _)| *packets > 0)
        .map(|(packets, cause)| format!("{} {cause}", count(*packets)))
        .collect();
    let dropped = if causes.is_empty() {
        "0".to_owned()
    } else {
        causes.join(", ")
    };
    let _ = writeln!(
        out,
        "<td class=\"way\" data-label=\"direction\">{name}</td><td class=\"n\" data-label=\"rate requested\">{}</td><td class=\"n\" data-label=\"realised\">{}</td>\
         <td class=\"n\" data-label=\"packets\">{}</td><td class=\"n wrap\" data-label=\"dropped\">{dropped}</td></tr>",
        rate_words(PerDirection::splat(direction.rate)),
        direction
            .realised_rate
            .map_or_else(|| DASH.to_owned(), |rate| rate.to_string()),
        count(direction.packets),
    );
}

fn signed(nanoseconds: Option<i64>) -> String {
    match nanoseconds {
        None => DASH.to_owned(),
        Some(error) => {
            let sign = if error < 0 { "−" } else { "+" };
            format!("{sign}{}", time(Duration::from_nanos(error.unsigned_abs())))
        }
    }
}

const SHOWN: usize = 40;
const MAX_NAME_LEN: usize = 160;
