// Redraws the prediction when a slider moves. The page says the same without it.
"use strict";
(() => {
  const grid = JSON.parse(document.getElementById("grid").textContent);
  const byId = (id) => document.getElementById(id);
  const classes = ["client", "server", "pooler", "trip", "transfer", "recovery", "unknown"];
  const names = ["client", "server", "pooler", "round trip", "transfer", "recovery", "unknown"];
  const dash = "–";

  // Amounts as the rest of the page writes them.
  const three = (n) => (n < 9.995 ? n.toFixed(2) : n < 99.95 ? n.toFixed(1) : n.toFixed(0));
  const time = (ns) =>
    ns === 0 ? "0 ms" : ns < 1e3 ? `${Math.round(ns)} ns` : ns < 999500 ? `${three(ns / 1e3)} µs`
      : ns < 999500000 ? `${three(ns / 1e6)} ms` : `${three(ns / 1e9)} s`;
  const bare = (n) => n.toFixed(2).replace(/\.?0+$/, "");
  const tickText = (ns) =>
    ns <= 0 ? "0" : ns < 999.5 ? `${bare(ns)} ns` : ns < 999500 ? `${bare(ns / 1e3)} µs`
      : ns < 999500000 ? `${bare(ns / 1e6)} ms` : `${bare(ns / 1e9)} s`;
  const axisTitle = (quantity, ticks) =>
    `${quantity} (${[...new Set(ticks.map((ns) => tickText(ns).split(" ")[1]).filter(Boolean))].join(", ")})`;
  const whole = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
  const number = (n) =>
    !Number.isFinite(n) ? dash : Math.abs(n) < 10 ? n.toFixed(2) : Math.abs(n) < 1000 ? n.toFixed(1) : whole(n);
  const factor = (n) => (n < 99.95 ? three(n) : whole(n));
  const percent = (thousandths) =>
    thousandths > 0 && thousandths < 5 ? "<1 %" : `${Math.round(thousandths / 10)} %`;
  const oneRate = (bits) =>
    bits === null ? "unlimited" : bits < 1e3 ? `${bits} bit/s` : bits < 1e6 ? `${three(bits / 1e3)} kbit/s`
      : bits < 1e9 ? `${three(bits / 1e6)} Mbit/s` : `${three(bits / 1e9)} Gbit/s`;
  const rateText = ([up, down]) => (up === down ? oneRate(up) : `${oneRate(up)} / ${oneRate(down)}`);

  // Stops of the rate slider: round amounts between the rates that were replayed, then no limit, then links whose
  // directions differ. `between` names two places in grid.rates and how far from the first to the second it is, by
  // the time that a byte takes.
  const rateStops = () => {
    const even = grid.rates.map((rate, place) => ({ rate: rate[0], place, pair: rate })).filter((r) => r.pair[0] === r.pair[1]);
    const limited = even.filter((r) => r.rate !== null).sort((a, b) => a.rate - b.rate);
    const stops = [];
    for (let i = 0; i + 1 < limited.length; i++) {
      const [slow, fast] = [limited[i], limited[i + 1]];
      stops.push({ pair: slow.pair, between: [slow.place, slow.place, 0] });
      const power = 10 ** Math.floor(Math.log10(slow.rate));
      for (const step of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80]) {
        const rate = step * power;
        if (rate > slow.rate * 1.05 && rate < fast.rate * 0.95) {
          const along = (1 / slow.rate - 1 / rate) / (1 / slow.rate - 1 / fast.rate);
          stops.push({ pair: [rate, rate], between: [slow.place, fast.place, along] });
        }
      }
    }
    const alone = limited.slice(-1).concat(even.filter((r) => r.rate === null));
    const uneven = grid.rates.map((pair, place) => ({ pair, place })).filter((r) => r.pair[0] !== r.pair[1]);
    for (const { pair, place } of alone.concat(uneven)) stops.push({ pair, between: [place, place, 0] });
    return stops;
  };
  const stops = rateStops();
  const state = { row: 0, rtt: grid.start[0], stop: 0, clients: grid.start[2] };
  state.stop = Math.max(0, stops.findIndex((s) => s.between[2] === 0 && s.between[0] === grid.start[1]));

  const cell = (rtt, rate) =>
    grid.operations[state.row].cells[(state.clients * grid.rates.length + rate) * grid.rtts.length + rtt];
  const mix = (a, b, along) => {
    const of = (i) => a[i] + (b[i] - a[i]) * along;
    const weigh = (c, part, share) => c[5][part] * c[0] * share;
    const parts = classes.map((_, i) => weigh(a, i, 1 - along) + weigh(b, i, along));
    const sum = parts.reduce((x, y) => x + y, 0) || 1;
    return [of(0), of(1), of(2), 1 / ((1 - along) / (a[3] || 1e-9) + along / (b[3] || 1e-9)), (along < 0.5 ? a : b)[4],
      parts.map((part) => (part / sum) * 1000), of(6)];
  };
  const atPlace = (place) => {
    const [slow, fast, along] = stops[state.stop].between;
    return along === 0 ? cell(place, slow) : mix(cell(place, slow), cell(place, fast), along);
  };
  const atRtt = (rtt) => {
    let place = 0;
    while (place + 2 < grid.rtts.length && grid.rtts[place + 1] <= rtt) place++;
    const [from, to] = [grid.rtts[place], grid.rtts[place + 1]];
    const along = Math.min(1, Math.max(0, (rtt - from) / (to - from)));
    return along === 0 ? atPlace(place) : mix(atPlace(place), atPlace(place + 1), along);
  };

  const linkText = () => {
    const clients = grid.clients[state.clients];
    return `${time(state.rtt)}, ${rateText(stops[state.stop].pair)}${clients === 1 ? "" : `, ${clients} clients`}`;
  };

  const figures = () => {
    const [duration, low, high, perSecond, boundBy, parts] = atRtt(state.rtt);
    const operation = grid.operations[state.row];
    const stated = low < high && high <= 3 * low;
    byId("o-duration").textContent = stated ? time(duration) : low < high ? `${time(low)} to ${time(high)}` : "-";
    byId("o-link").textContent = linkText();
    byId("o-times").textContent = operation.here && stated ? `, ${factor(duration / operation.here)} times the ${time(operation.here)} measured` : "";
    byId("o-bounds").textContent = low < high ? `${time(low)} to ${time(high)}` : "none: operations are unlike";
    byId("o-per-second").textContent = number(perSecond);
    byId("o-turns").textContent = number(operation.turns).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
    byId("o-bound-by").textContent = boundBy;
    let from = 0;
    byId("o-bar").innerHTML = parts.map((part, i) => {
      const rect = `<rect class="p-${classes[i]}" x="${from.toFixed(1)}" y="0" width="${part.toFixed(1)}" height="10"/>`;
      from += part;
      return part > 0 ? rect : "";
    }).join("");
    byId("o-bar").setAttribute("aria-label", parts.map((part, i) => `${names[i]} ${percent(part)}`).join(", "));
    [...byId("o-parts").children].forEach((item, i) => {
      item.hidden = parts[i] <= 0;
      item.querySelector("span").textContent = percent(parts[i]);
    });
  };

  // As in scale.rs.
  const logScale = (unit, least, most, from, to) => {
    const log = (amount) => Math.log1p(Math.max(amount, least) / unit);
    const whole = log(most) - log(least) || 1;
    return {
      place: (amount) => from + ((to - from) * (log(amount) - log(least))) / whole,
      along: (count) => Array.from({ length: count + 1 }, (_, i) => Math.expm1(log(least) + (whole * i) / count) * unit),
    };
  };
  const logTicks = (least, most, wanted) => {
    const between = (steps) => {
      const all = Array.from({ length: 18 }, (_, power) => steps.map((step) => step * 10 ** power)).flat();
      return all.filter((tick) => tick >= least * 0.999 && tick <= most * 1.001);
    };
    return [[1, 2, 5], [1, 3]].map(between).find((ticks) => ticks.length <= wanted) ?? between([1]);
  };

  // As in curve.rs.
  const [left, right, top, bottom, lineHeight] = [58, 64, 30, 48, 14];
  const [rttUnit, places, room, leastTime] = [500000, 48, 1.25, 100];
  // How long an operation takes without what was found: as in grid.rs.
  const without = (c, rtt) => c[0] * Math.min(1, Math.max(0, 1 - (grid.operations[state.row].removed * rtt) / (c[6] || 1)));
  const drawn = (rtt) => {
    let place = 0;
    while (place + 2 < grid.rtts.length && grid.rtts[place + 1] <= rtt) place++;
    const [from, to] = [atPlace(place), atPlace(place + 1)];
    const along = Math.min(1, Math.max(0, (rtt - grid.rtts[place]) / (grid.rtts[place + 1] - grid.rtts[place])));
    const between = (a, b) => a + (b - a) * along;
    return { rtt, median: between(from[0], to[0]), low: between(from[1], to[1]), high: between(from[2], to[2]),
      without: between(without(from, grid.rtts[place]), without(to, grid.rtts[place + 1])) };
  };
  const draw = (svg) => {
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const operation = grid.operations[state.row];
    const cells = grid.rtts.map((_, place) => atPlace(place));
    const pair = stops[state.stop].pair;
    const near = (a, b) => (a === null || b === null ? a === b : Math.abs(a / b - 1) < 0.01);
    const points = operation.points.filter((p) =>
      near(p.rate[0], pair[0]) && near(p.rate[1], pair[1]) && p.clients === grid.clients[state.clients]);
    const mostX = grid.rtts[grid.rtts.length - 1];
    const alongX = logScale(rttUnit, 0, mostX, left, width - right);
    const curve = alongX.along(places).map(drawn);
    const times = curve.flatMap((c) => [c.median, c.high, c.low, c.without]).concat(points.map((p) => p.duration), operation.here ?? [])
      .filter((ns) => ns > 0);
    const mostY = Math.max(leastTime, ...times) * room;
    const leastY = Math.max(leastTime, Math.min(mostY, ...times) / room);
    const x = alongX.place;
    const y = logScale(1, leastY, mostY, height - bottom, top).place;
    const line = (of) => curve.map((c) => `${x(c.rtt).toFixed(1)} ${y(c[of]).toFixed(1)}`);
    const text = (kind, px, py, anchor, words) =>
      `<text class="${kind}" x="${px.toFixed(1)}" y="${py.toFixed(1)}" text-anchor="${anchor}">${words}</text>`;
    const base = height - bottom;
    let out = "";
    const upwards = logTicks(leastY, mostY, 6);
    const rttTicks = logTicks(rttUnit, mostX, svg.classList.contains("wide") ? 8 : 4);
    for (const tick of upwards) {
      out += `<line class="rule" x1="${left}" x2="${width - right}" y1="${y(tick).toFixed(1)}" y2="${y(tick).toFixed(1)}"/>`;
      out += text("tick", left - 8, y(tick) + 4, "end", tickText(tick));
    }
    for (const tick of [0, ...rttTicks]) out += text("tick", x(tick), base + 18, "middle", tickText(tick));
    out += text("axis", (left + width - right) / 2, base + 38, "middle", axisTitle("round-trip time of the link", rttTicks));
    out += text("axis", 8, 14, "start", axisTitle("duration of one operation", upwards));
    out += `<path class="band" d="M${line("high").join("L")}L${line("low").reverse().join("L")}Z"/>`;
    out += `<path class="line" d="M${line("median").join("L")}"/>`;
    const [last, end] = [cells[cells.length - 1], curve[curve.length - 1]];
    out += text("end strong", width - right + 6, y(end.median) + 4, "start", "as it is");
    if (operation.removed > 0) {
      out += `<path class="line without" d="M${line("without").join("L")}"/>`;
      out += text("end without", width - right + 6, Math.max(y(end.without), y(end.median) + lineHeight) + 4, "start", "changed");
    }
    if (grid.here !== null && operation.here && grid.here <= mostX && operation.here <= mostY) {
      out += `<circle class="here" cx="${x(grid.here).toFixed(1)}" cy="${y(operation.here).toFixed(1)}" r="4">` +
        `<title>as measured: ${time(operation.here)} at ${time(grid.here)}</title></circle>`;
    }
    for (const p of points) {
      out += `<circle class="dot" cx="${x(p.rtt).toFixed(1)}" cy="${y(p.duration).toFixed(1)}" r="4">` +
        `<title>measured: ${time(p.duration)} at ${time(p.rtt)} (${p.operations} operations)</title></circle>`;
    }
    const [mx, my] = [x(state.rtt).toFixed(1), y(atRtt(state.rtt)[0]).toFixed(1)];
    out += `<line class="hair" x1="${mx}" x2="${mx}" y1="${base}" y2="${my}"/><circle class="marker" cx="${mx}" cy="${my}" r="6"/>`;
    svg.innerHTML = out;
    svg.setAttribute("aria-label", `Predicted median over the round-trip time of the link: ${time(cells[0][0])} at ${time(grid.rtts[0])}, ` +
      `${time(last[0])} at ${time(mostX)}`);
  };

  // The slider moves along the axis of the curve.
  const notches = 200;
  const rttScale = logScale(rttUnit, 0, grid.rtts[grid.rtts.length - 1], 0, notches);

  // The steps of one operation, as measured or at the slider's round trip. As in waterfall/moved.rs.
  const steps = byId("steps") && JSON.parse(byId("steps").textContent);
  const plot = byId("plot");
  const redrawn = steps ? [plot, byId("ticks"), byId("since")] : [];
  const asMeasured = redrawn.map((part) => part.innerHTML);
  const movedSteps = () => {
    const longer = Math.max(0, state.rtt - steps.rtt);
    const moved = [];
    for (const [from, to, turns, after, replyAfter, stretches] of steps.rows) {
      const shift = (row) => (row >= 0 && row < moved.length ? moved[row].to - steps.rows[row][1] : 0);
      const begin = from + shift(after);
      moved.push({ from: begin, to: begin + (to - from) + turns * longer, trip: turns * longer, stretches, replyAfter });
    }
    // Whose reply waited for calls of its own ends as much later as they do.
    moved.forEach((row, place) => {
      if (row.replyAfter < 0 || row.replyAfter >= moved.length) return;
      const later = moved[row.replyAfter].to - steps.rows[row.replyAfter][1];
      row.stretches = row.stretches.map(([kind, long]) => [kind, long]);
      const waits = row.stretches.findIndex(([kind]) => kind === "waiting");
      if (waits >= 0) row.stretches[waits][1] += later;
      row.to += later;
    });
    return moved;
  };
  const drawSteps = () => {
    const moved = movedSteps();
    const end = Math.max(1, steps.end - Math.max(...steps.rows.map((row) => row[1])) + Math.max(...moved.map((row) => row.to)));
    const x = (ns) => (ns / end) * 1000;
    let out = "";
    moved.forEach((row, place) => {
      const parts = [["trip", row.trip / 2], ...row.stretches, ["trip", row.trip / 2]];
      let from = row.from;
      out += `<g><title>${time(row.from)} to ${time(row.to)}</title><rect class="row" y="${place * 24}" width="1000" height="24"/>`;
      for (const [kind, long] of parts) {
        if (long > 0) out += `<rect class="p-${kind}" x="${x(from).toFixed(1)}" y="${place * 24 + 7}" width="${Math.max(1, x(long)).toFixed(1)}" height="10"/>`;
        from += long;
      }
      out += "</g>";
    });
    plot.innerHTML = out;
    const quarters = [0, 0.25, 0.5, 0.75, 1];
    byId("ticks").innerHTML = quarters.map((part) =>
      `<span style="left:${(part * 100).toFixed(0)}%">${part === 0 ? "0" : time(end * part)}</span>`).join("");
    byId("since").textContent = axisTitle("time since the operation began", quarters.map((part) => end * part));
  };
  const showSteps = () => {
    if (!steps) return;
    const wanted = byId("s-steps").checked;
    byId("v-steps").textContent = wanted ? time(state.rtt) : "as measured";
    if (wanted) drawSteps();
    else redrawn.forEach((part, place) => { part.innerHTML = asMeasured[place]; });
  };
  if (steps) byId("s-steps").addEventListener("change", showSteps);

  const set = (id, value, words) => {
    const input = byId(`s-${id}`);
    if (!input) return;
    input.value = value;
    input.setAttribute("aria-valuetext", words);
    byId(`v-${id}`).textContent = words;
  };
  const update = () => {
    set("rtt", Math.round(rttScale.place(state.rtt)), time(state.rtt));
    set("rate", state.stop, rateText(stops[state.stop].pair));
    set("clients", state.clients, String(grid.clients[state.clients]));
    figures();
    document.querySelectorAll(".curve").forEach(draw);
    if (steps && byId("s-steps").checked) showSteps();
  };

  const listen = (id, most, step, take) => {
    const input = byId(`s-${id}`);
    if (!input) return;
    Object.assign(input, { min: 0, max: most, step });
    input.addEventListener("input", () => {
      take(Number(input.value));
      update();
    });
  };
  const mostRtt = grid.rtts[grid.rtts.length - 1] / 1e6;
  // Two digits of milliseconds: what a user would type.
  const rounded = (ns) => (ns < 5000 ? 0 : Number(ns.toPrecision(2)));
  listen("rtt", notches, 1, (notch) => { state.rtt = Math.min(rounded(rttScale.along(notches)[notch]), grid.rtts[grid.rtts.length - 1]); });
  listen("rate", stops.length - 1, 1, (stop) => { state.stop = stop; });
  listen("clients", grid.clients.length - 1, 1, (place) => { state.clients = place; });
  const choice = byId("s-operation");
  if (choice) choice.addEventListener("change", () => { state.row = Number(choice.value); update(); });
  for (const [name, ms] of [["next zone", 1], ["next region", 10], ["continent", 40], ["ocean", 120]]) {
    if (ms > mostRtt) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = `${name} ${ms} ms`;
    button.addEventListener("click", () => { state.rtt = ms * 1e6; update(); });
    byId("presets").append(button);
  }
  document.documentElement.classList.add("scripted");
  update();
})();
