// T-Rex: a lane for each match, what the model thinks beside it, and crashes again at half speed.

import {h} from "./dom.js";
import {lastAt} from "./data.js";
import {t, value} from "./i18n.js";

const WIDTH = 600, HEIGHT = 150;  // of the game's canvas, in its pixels
const REPLAY_S = 1.5;
const TONES = {crash: ["bad", 2], restart: ["accent", 1], late: ["warn", 0], failed: ["bad", 1],
  save: ["violet", 1], shield: ["violet", 1], emergency: ["violet", 1]};
const ACTED_FRAMES = 12;  // for which an answer stays lit after it landed

const STANDING = [
  "             ######### ", "            ###########", "            ## ########", "            ###########",
  "            ###########", "            ######     ", "            #########  ", "#          ######      ",
  "##        ########     ", "###      ########      ", "####    ##########     ", "################ #     ",
  "################       ", " ##############        ", "  #############        ", "   ###########         ",
  "    #########          ", "     #######           ", "     ### ##            ", "     ##   #            ",
];
const LEGS = [["     #    #            ", "     ##   #            ", "          ##           "],
  ["     #    ##           ", "     #                 ", "     ##                "]];
const DUCKING = [
  "#                   ######### ", "##    ############ ###########", "###################### #######",
  " #############################", "  ############################", "   #################  ###     ",
  "    ###############   ####### ", "     ## #### ##  #            ", "     #     #                  ",
];

export function trexView(doc, context) {
  const {fps, actions, statuses} = doc.data;
  const lanes = doc.data.lanes.map((lane) => prepare(lane, fps));
  const seeds = [...new Set(lanes.map((lane) => lane.seed))];
  const view = {step: 1 / fps, controls: [], charts: [], marks: [], seed: seeds[0], slow: true, replayed: new Set()};
  let shown = [];

  function choose() {
    shown = lanes.filter((lane) => lane.seed === view.seed);
    view.duration = Math.max(...shown.map((lane) => lane.end)) / fps;
    view.marks = shown.flatMap((lane, k) => lane.marks.map((mark) => markOf(mark, shown.length > 1 ? k : null, fps)))
      .sort((a, b) => a.time - b.time);
    view.charts = chartsOf(shown, fps);
    view.replayed.clear();
  }

  if (seeds.length > 1) {
    view.controls.push(h("label", {}, t("seed"), h("select", {id: "seed", onchange: (event) => {
      view.seed = seeds[event.target.selectedIndex];
      choose();
      context.refresh();
    }}, seeds.map((seed) => h("option", {selected: seed === view.seed}, seed)))));
  }
  const slow = h("input", {type: "checkbox", checked: true, onchange: () => { view.slow = slow.checked; }});
  view.controls.push(h("label", {}, slow, t("crash_replay")));
  view.keep = () => view.seed;
  view.restore = (seed) => {
    view.seed = seed;
    const select = document.getElementById("seed");
    if (select) select.selectedIndex = seeds.indexOf(seed);
    choose();
    context.refresh();
  };

  view.append = (news) => {
    for (const [k, more] of news.lanes.entries()) {
      if (k >= lanes.length) {
        lanes.push(prepare(more, fps));
        seeds.splice(0, seeds.length, ...new Set(lanes.map((lane) => lane.seed)));
        view.seed = more.seed;
      } else extend(lanes[k], more);
    }
    choose();
  };

  // A crash is seen twice: the second time slowly, from a little before.
  view.filter = (before, after) => {
    if (view.replaying && after >= view.replaying.until) {
      view.replaying = null;
      return {time: after, factor: 1};
    }
    if (!view.slow || view.replaying) return null;
    const crash = view.marks.find((mark) => mark.kind === "crash" && mark.time > before && mark.time <= after
      && !view.replayed.has(mark));
    if (!crash) return null;
    view.replayed.add(crash);
    view.replaying = {until: crash.time + 0.25};
    return {time: Math.max(0, crash.time - REPLAY_S), factor: 0.5};
  };

  view.where = (time) => `#${Math.floor(time * fps + 1e-6)}`;

  view.draw = (g, width, height, time, colours) => {
    const each = height / shown.length;
    g.fillStyle = colours.line;
    for (let k = 1; k < shown.length; k++) g.fillRect(0, k * each, width, 1);
    shown.forEach((lane, k) => drawLane(g, lane, k * each, width, each, time, colours));
    if (view.replaying && time < view.replaying.until) {
      g.fillStyle = colours.bad;
      g.font = "700 13px system-ui, sans-serif";
      g.textAlign = "center";
      g.fillText(t("replay_slow"), width / 2, 44);
    }
  };

  view.inspect = (time) => shown.flatMap((lane) => inspectLane(lane, time, shown.length > 1));

  function state(lane, time) {
    const frame = Math.floor(time * fps + 1e-6);
    const at = Math.max(0, lastAt(lane.columns.frame, frame));
    const landed = lastAt(lane.answers, frame, (answer) => answer.frame);
    const last = landed >= 0 ? lane.answers[landed] : null;
    const out = lane.answers.filter((answer) => answer.asked < frame && answer.frame > frame && answer.asked > frame - 600);
    return {frame, at, last, out, landed};
  }

  function drawLane(g, lane, top, width, height, time, colours) {
    const {frame, at, last, out} = state(lane, time);
    const columns = lane.columns;
    const strip = 26, below = height > 230 ? 78 : 46;
    const scale = Math.min(width / WIDTH, (height - strip - below) / HEIGHT);
    const left = (width - WIDTH * scale) / 2;
    const spare = height - strip - below - HEIGHT * scale;
    if (spare > 0) top += spare / 2;
    const status = statuses[columns.status[at]];
    g.font = "600 13px system-ui, sans-serif";
    g.textAlign = "left";
    g.fillStyle = colours.ink;
    g.fillText(`${lane.player} · ${t("seed")} ${lane.seed}${lanes.length > 1 && lane.source ? ` · ${lane.source}` : ""}`, 12, top + 18);
    g.textAlign = "right";
    g.font = "600 13px ui-monospace, monospace";
    g.fillText(String(columns.score[at]).padStart(5, "0"), width - 12, top + 18);
    g.save();
    g.beginPath();
    g.rect(left, top + strip, WIDTH * scale, HEIGHT * scale);
    g.clip();
    g.translate(left, top + strip);
    g.scale(scale, scale);
    drawGame(g, lane, at, frame, status, colours);
    g.restore();
    drawDecision(g, lane, 12, top + strip + HEIGHT * scale + 6, width - 24, below - 4,
      frame, last, out, colours);
  }

  function drawDecision(g, lane, x, y, width, height, frame, last, out, colours) {
    const fresh = last && frame - last.frame < ACTED_FRAMES;
    const taken = fresh && last.fate === "Applied";
    const saved = lane.marks.find((mark) => TONES[mark.kind][0] === "violet" && frame >= mark.frame && frame - mark.frame < ACTED_FRAMES);
    const acted = taken ? `${t("action")} ${t(last.executed)}` : t("action");
    const pills = [[t("thinking") + (out.length ? ` ×${out.length}` : ""), out.length > 0, colours.accent],
      [t("answer"), fresh, last && last.fate !== "Applied" ? colours.warn : colours.good],
      [acted, taken, colours.good]];
    if (saved) pills.push([`${t(saved.kind)} ${saved.text.includes("→") ? saved.text : t(saved.text)}`, true, colours.violet]);
    else if (fresh && last.fate !== "Applied") pills.push([last.error || last.fate, true, colours.warn]);
    g.font = "600 11px system-ui, sans-serif";
    g.textAlign = "left";
    let at = x;
    for (const [i, [text, lit, colour]] of pills.entries()) {
      const wide = g.measureText(text).width + 18;
      g.globalAlpha = lit ? 1 : 0.3;
      g.fillStyle = lit ? colour : colours.faint;
      g.beginPath();
      g.roundRect(at, y, wide, 20, 10);
      g.fill();
      g.fillStyle = lit ? "#fff" : colours.muted;
      g.globalAlpha = lit ? 1 : 0.8;
      g.fillText(text, at + 9, y + 14);
      g.globalAlpha = 1;
      g.fillStyle = colours.muted;
      if (i < 2) g.fillText("→", at + wide + 5, y + 14);
      at += wide + 22;
    }
    if (!last || height < 40) return;
    const each = width / actions.length;
    actions.forEach((action, i) => {
      const left = x + each * i, wide = each - 14;
      g.fillStyle = colours.faint;
      g.fillRect(left, y + 34, wide, 7);
      const safe = !last.safe || last.safe[i];
      g.fillStyle = action === last.executed ? colours.good : safe ? colours.accent : colours.bad;
      g.fillRect(left, y + 34, wide * last.p[i], 7);
      g.font = `${action === last.proposed ? 700 : 400} 11px system-ui, sans-serif`;
      g.fillStyle = safe ? colours.ink : colours.bad;
      const label = `${t(action)}${action === last.best ? " ★" : ""} ${last.safe ? (safe ? "✓" : "✗") : ""}`;
      g.fillText(label, left, y + 55);
      g.textAlign = "right";
      g.fillText(`${(100 * last.p[i]).toFixed(0)} %`, left + wide, y + 55);
      g.textAlign = "left";
    });
  }

  function drawGame(g, lane, at, frame, status, colours) {
    const {columns, kinds} = lane;
    g.fillStyle = colours.muted;
    g.fillRect(0, 139, WIDTH, 1);
    const moved = lane.moved[at] || 0;
    for (let i = 0; i < 40; i++) {
      // pebbles, scattered by their number so that they move with the ground
      const x = WIDTH - ((moved + i * 137) % (WIDTH + 60));
      g.fillRect(x, 142 + (i * 7) % 6, 2 + (i * 5) % 4, 1);
    }
    const seen = columns.seen[at];
    for (let i = 0; i < seen.length; i += 2) {
      const [label, y, width, height] = kinds[seen[i]];
      drawObstacle(g, label, seen[i + 1], y, width, height, frame, colours);
    }
    g.fillStyle = status === "crash" ? colours.bad : colours.ink;
    const x = columns.x[at], y = columns.y[at];
    if (status === "duck") paint(g, DUCKING, x, y + 20, 2);
    else {
      paint(g, STANDING, x, y, 2);
      paint(g, LEGS[status === "run" ? (frame >> 2) & 1 : 0], x, y + 2 * STANDING.length, 2);
    }
  }

  function inspectLane(lane, time, several) {
    const {at, last, out, landed, frame} = state(lane, time);
    const columns = lane.columns;
    const before = lane.answers.slice(0, landed + 1);
    const applied = before.filter((answer) => answer.fate === "Applied");
    const agreed = applied.filter((answer) => answer.proposed === answer.best).length;
    const rows = [["score", columns.score[at]], ["speed_px", columns.speed[at]],
      ["held", columns.held[at] ? "duck" : "run"], ["in_flight", out.length],
      ["applied", applied.length], ["discarded", before.length - applied.length],
      ["saves", lane.marks.filter((mark) => TONES[mark.kind][0] === "violet" && mark.frame <= frame).length],
      ["agreement", applied.length ? `${(100 * agreed / applied.length).toFixed(1)} %` : null]];
    const sections = [{title: several ? `${lane.player} · ${lane.source}` : lane.player, rows}];
    if (last) {
      sections.push({title: `${t("answer")} ${last.seq}`,
        bars: actions.map((action, i) => ({name: action, value: last.p[i], text: `${(100 * last.p[i]).toFixed(1)} %`,
          tone: last.safe && !last.safe[i] ? "bad" : action === last.executed ? "good" : "accent",
          mark: `${action === last.best ? "best " : ""}${action === last.proposed ? "chosen" : ""}`})),
        rows: [["fate", last.error || last.fate, last.fate === "Applied" ? "good" : "warn"],
          ["best", last.best], ["safe", last.safe ? actions.filter((_, i) => last.safe[i]) : null],
          ["proposed", last.proposed], ["executed", last.executed],
          ["latency", `${last.latency_ms.toFixed(0)} ms`], ["model_ms", `${last.model_ms.toFixed(1)} ms`],
          ["plan_ms", `${last.plan_ms.toFixed(2)} ms`]]});
    }
    return sections;
  }

  choose();
  return view;
}

function prepare(lane, fps) {
  lane.answers.sort((a, b) => a.frame - b.frame);
  measure(lane);
  return lane;
}

function extend(lane, more) {
  for (const [name, values] of Object.entries(more.columns)) {
    for (const each of values) lane.columns[name].push(each);
  }
  lane.kinds = more.kinds;
  lane.answers.push(...more.answers);
  lane.marks.push(...more.marks);
  measure(lane);
}

// How far the ground has moved, and where the match ends.
function measure(lane) {
  const {frame, speed, run} = lane.columns;
  lane.moved = new Float64Array(frame.length);
  for (let i = 1; i < frame.length; i++) {
    lane.moved[i] = run[i] === run[i - 1] ? lane.moved[i - 1] + speed[i] : 0;
  }
  lane.end = frame.length ? frame[frame.length - 1] : 0;
}

function markOf(mark, lane, fps) {
  const [tone, weight] = TONES[mark.kind] || ["muted", 0];
  const told = mark.text.includes("→") || mark.kind === "failed" ? mark.text : t(mark.text);
  return {time: mark.frame / fps, kind: mark.kind, tone, weight, text: lane === null ? told : `${told} · ${lane + 1}`};
}

function chartsOf(lanes, fps) {
  const named = (lane) => lanes.length > 1 ? `${lane.player} ${lane.source}` : lane.player;
  return [
    {title: "latency_histogram", kind: "histogram",
      series: lanes.map((lane) => ({name: named(lane), x: lane.answers.filter((a) => !a.error).map((a) => a.latency_ms)}))},
    {title: "score", kind: "line", cursor: true, series: lanes.map((lane) => {
      const some = lane.columns.frame.map((_, i) => i).filter((i) => i % 6 === 0);
      return {name: named(lane), x: some.map((i) => lane.columns.frame[i] / fps), y: some.map((i) => lane.columns.score[i])};
    })},
  ];
}

function paint(g, rows, x, y, size) {
  for (let row = 0; row < rows.length; row++) {
    const line = rows[row];
    for (let from = 0; from < line.length; from++) {
      if (line[from] !== "#") continue;
      let to = from;
      while (line[to] === "#") to++;
      g.fillRect(x + from * size, y + row * size, (to - from) * size, size);
      from = to;
    }
  }
}

function drawObstacle(g, label, x, y, width, height, frame, colours) {
  if (/bird|ptero/i.test(label)) {
    g.fillStyle = colours.warn;
    const up = (frame >> 4) & 1;
    g.beginPath();
    g.moveTo(x, y + 18);
    g.lineTo(x + 14, y + 10);
    g.lineTo(x + width, y + 20);
    g.lineTo(x + 30, y + 26);
    g.lineTo(x + 12, y + 24);
    g.fill();
    g.beginPath();
    g.moveTo(x + 16, y + 16);
    g.lineTo(x + 30, up ? y : y + height);
    g.lineTo(x + 34, y + 20);
    g.fill();
    return;
  }
  g.fillStyle = colours.good;
  const stems = Math.max(1, Math.round(width / (height > 40 ? 25 : 17)));
  const each = width / stems;
  for (let i = 0; i < stems; i++) {
    const left = x + i * each, trunk = each * 0.36, middle = left + (each - trunk) / 2;
    g.beginPath();
    g.roundRect(middle, y, trunk, height, trunk / 2);
    g.roundRect(left + 1, y + height * 0.28, each * 0.2, height * 0.36, 2);
    g.rect(left + 1, y + height * 0.52, each * 0.4, height * 0.11);
    g.roundRect(left + each * 0.8 - 1, y + height * 0.18, each * 0.2, height * 0.36, 2);
    g.rect(left + each * 0.58, y + height * 0.42, each * 0.4, height * 0.11);
    g.fill();
  }
}
