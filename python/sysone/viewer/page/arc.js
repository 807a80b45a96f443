// ARC: the grid with its overlays, the graph of states, and what was chosen from what.

import {h} from "./dom.js";
import {t} from "./i18n.js";

const KEY_EVERY = 64;  // steps between two pictures that are kept whole
const GRAPH_MOST = 400;
const CANDIDATES_SHOWN = 24;

export function arcView(doc, context) {
  const {height, width, palette, steps, start} = doc.data;
  const pictures = picturesOf(start, steps, width * height);
  let offers = [], masks = () => [], refused = null;
  const view = {step: 1, start: 0, duration: Math.max(1, steps.length), controls: [], marks: marksOf(steps)};
  const mask = h("input", {type: "checkbox", checked: true, onchange: () => context.redraw()});
  const changed = h("input", {type: "checkbox", checked: true, onchange: () => context.redraw()});
  view.controls.push(h("label", {}, mask, t("mask")), h("label", {}, changed, t("changed")));
  view.charts = chartsOf(steps);
  const graph = graphOf(steps);
  view.complete = (found) => {
    offers = found.offers || [];
    masks = masksOf(offers);
    refused = found.refused || null;
  };
  // One step a second would be slow: the clock of a trace runs in steps.
  view.where = (time) => {
    const step = steps[Math.floor(time + 1e-9) - 1];
    return step ? label(step) : "";
  };

  view.draw = (g, wide, high, time, colours) => {
    const at = Math.min(steps.length, Math.floor(time + 1e-9));
    const beside = wide > 620;
    const side = Math.min(beside ? wide * 0.6 : wide - 16, beside ? high - 16 : high * 0.62);
    const cell = side / Math.max(width, height);
    const left = 8, top = 8;
    drawGrid(g, pictures(at), left, top, cell);
    const step = steps[at - 1];
    if (mask.checked) {
      g.strokeStyle = colours.violet;
      g.globalAlpha = 0.8;
      for (const place of masks(at)) {
        const x = left + (place % width) * cell, y = top + Math.floor(place / width) * cell;
        g.beginPath();
        g.moveTo(x, y + cell);
        g.lineTo(x + cell, y);
        g.stroke();
      }
      g.globalAlpha = 1;
    }
    if (changed.checked && step && at > 0) {
      const before = pictures(at - 1), after = pictures(at);
      g.strokeStyle = colours.bad;
      for (let i = 0; i < after.length; i++) {
        if (before[i] !== after[i]) g.strokeRect(left + (i % width) * cell + 0.5, top + Math.floor(i / width) * cell + 0.5, cell - 1, cell - 1);
      }
    }
    if (step && step.data && Number.isFinite(step.data.x)) {
      const x = left + (step.data.x + 0.5) * cell, y = top + (step.data.y + 0.5) * cell;
      g.lineWidth = 2;
      for (const [radius, colour] of [[cell * 1.6, colours.ink], [cell * 1.6 + 2, colours.warn]]) {
        g.strokeStyle = colour;
        g.beginPath();
        g.arc(x, y, radius, 0, 2 * Math.PI);
        g.stroke();
      }
      g.lineWidth = 1;
    }
    g.strokeStyle = colours.line;
    g.strokeRect(left, top, width * cell, height * cell);
    if (beside) drawGraph(g, side + 26, 30, wide - side - 38, high - 44, at, colours);
    else drawGraph(g, 8, side + 34, wide - 16, high - side - 44, at, colours);
  };

  function drawGrid(g, cells, left, top, cell) {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width;) {
        const colour = cells[y * width + x];
        let to = x;
        while (to < width && cells[y * width + to] === colour) to++;
        g.fillStyle = palette[colour];
        // edges on whole pixels: between two rectangles nothing shines through
        const x0 = Math.round(left + x * cell), y0 = Math.round(top + y * cell);
        g.fillRect(x0, y0, Math.round(left + to * cell) - x0, Math.round(top + (y + 1) * cell) - y0);
        x = to;
      }
    }
  }

  // States in the order in which they were found, as a spiral; the way taken lately is lit.
  function drawGraph(g, left, top, wide, high, at, colours) {
    if (wide < 60 || high < 60) return;
    g.font = "600 11px system-ui, sans-serif";
    g.textAlign = "left";
    g.fillStyle = colours.muted;
    const known = graph.known[at] || 0;
    g.fillText(`${t("graph")} · ${known} ${t("states")}`, left, top - 8);
    const shown = Math.min(GRAPH_MOST, Math.max(known, 1)), scale = Math.min(wide, high) / 2 - 8;
    const cx = left + wide / 2, cy = top + high / 2;
    const place = (state) => {
      const share = Math.sqrt((state % GRAPH_MOST + 0.5) / shown), turn = (state % GRAPH_MOST) * 2.39996;
      return [cx + scale * share * Math.cos(turn), cy + scale * share * Math.sin(turn)];
    };
    g.strokeStyle = colours.muted;
    g.globalAlpha = 0.35;
    g.beginPath();
    for (const [from, to, first] of graph.edges) {
      if (first >= at || from >= GRAPH_MOST || to >= GRAPH_MOST) continue;
      g.moveTo(...place(from));
      g.lineTo(...place(to));
    }
    g.stroke();
    g.globalAlpha = 1;
    for (let i = Math.max(0, at - 12); i < at; i++) {
      const {from, to} = steps[i];
      if (from === null || to === null) continue;
      g.strokeStyle = colours.accent;
      g.globalAlpha = 0.2 + 0.8 * (1 - (at - i) / 12);
      g.lineWidth = 1.8;
      g.beginPath();
      g.moveTo(...place(from));
      g.lineTo(...place(to));
      g.stroke();
    }
    g.globalAlpha = 1;
    g.lineWidth = 1;
    for (let state = 0; state < Math.min(known, GRAPH_MOST); state++) {
      g.fillStyle = graph.gained.has(state) ? colours.good : colours.ink;
      g.beginPath();
      g.arc(...place(state), Math.max(1.5, Math.min(4, scale / Math.sqrt(shown) / 3)), 0, 2 * Math.PI);
      g.fill();
    }
    const now = at ? steps[at - 1].to : steps.length ? steps[0].from : 0;
    if (now !== null && now !== undefined) {
      g.fillStyle = colours.warn;
      g.beginPath();
      g.arc(...place(now), 5.5, 0, 2 * Math.PI);
      g.fill();
    }
  }

  view.inspect = (time) => {
    const at = Math.min(steps.length, Math.floor(time + 1e-9));
    const step = steps[at - 1];
    if (!step) return [{note: `${steps.length} ${t("actions")}`}];
    const sections = [{title: label(step), rows: [["source", step.source], ["probability", step.p],
      ["level", step.level], ["levels", step.levels_after], ["state", step.state],
      ["changed_cells", step.changed], ["states", step.to === null ? null : `${step.from} → ${step.to}`],
      ["frames", step.pictures], ["model_ms", step.ms === null ? null : `${step.ms} ms`]]}];
    if (step.wake || step.report) sections.push({title: t("wake"), rows: notesOf(step)});
    const found = offers[at - 1], told = step.probabilities;
    if (found || told) {
      const chosen = label(step), first = found ? found.first : [];
      const names = [...new Set([...Object.keys(told || {}), ...(told || first.includes(chosen) ? [] : [chosen]), ...first])].slice(0, CANDIDATES_SHOWN);
      if (!names.includes(chosen)) names.push(chosen);
      sections.push({title: `${t("candidates")} ${found ? found.of : names.length}`, bars: names.map((name) => {
        const p = told && Object.hasOwn(told, name) ? told[name] : name === chosen && !told ? step.p : null;
        return {name: name.replace("ACTION", "A").replace(/ x=(\d+) y=/, " $1,"), value: p || 0, text: p === null || p === undefined ? "" : `${(100 * p).toFixed(1)} %`,
          tone: name === chosen ? "good" : "accent", mark: name === chosen ? "chosen" : ""};
      })});
    }
    if (refused) sections.push({title: t("candidates"), note: refused});
    return sections;
  };

  view.hover = (x, y) => null;
  return view;
}

// What System-2 was woken for, and what it said: its summary, guesses, proposals and what it sees.
function notesOf(step) {
  const {summary, hypotheses, actions, entities} = step.report || {};
  const list = (what) => Array.isArray(what) ? what.filter((each) => each !== null) : [];
  const rows = [["wake_reason", step.wake ? t(`wake_${step.wake}`) : null]];
  if (summary) rows.push(["summary", String(summary)]);
  list(hypotheses).forEach((text) => rows.push(["hypothesis", String(text)]));
  list(actions).forEach((each) => rows.push(["proposed", [each.action, each.why].filter(Boolean).join(": ")]));
  if (list(entities).length) rows.push(["entities", list(entities).map((each) => [each.colour, each.name,
    each.x >= 0 ? `(${each.x}, ${each.y})` : "", each.role].filter(Boolean).join(" ")).join("; ")]);
  if (!step.report) rows.push(["report", t("wake_silent")]);
  return rows;
}

function label(step) {
  const {x, y} = step.data || {};
  return Number.isFinite(x) ? `${step.action} x=${x} y=${y}` : step.action;
}

// A picture at any step, from the nearest one that is kept whole.
function picturesOf(start, steps, size) {
  const read = (text) => Uint8Array.from(text, (digit) => parseInt(digit, 16));
  const kept = [read(start)];
  let current = kept[0].slice();
  const apply = (grid, step) => {
    if (step.grid) return read(step.grid);
    if (step.cells) {
      for (let i = 0; i < step.cells.length; i += 2) grid[step.cells[i]] = step.cells[i + 1];
    }
    return grid;
  };
  steps.forEach((step, i) => {
    current = apply(current, step);
    if ((i + 1) % KEY_EVERY === 0) kept.push(current.slice());
  });
  const recent = new Map();
  return (at) => {
    if (recent.has(at)) return recent.get(at);
    const key = Math.min(kept.length - 1, Math.floor(at / KEY_EVERY));
    let grid = kept[key].slice();
    for (let i = key * KEY_EVERY; i < at; i++) grid = apply(grid, steps[i]);
    if (recent.size > 16) recent.clear();
    recent.set(at, grid);
    return grid;
  };
}

function masksOf(offers) {
  const changes = [];
  offers.forEach((offer, i) => {
    if (offer && offer.mask) changes.push([i, offer.mask]);
  });
  return (at) => {
    let found = changes.length ? changes[0][1] : [];
    for (const [from, mask] of changes) {
      if (from > at) break;
      found = mask;
    }
    return found;
  };
}

function marksOf(steps) {
  const marks = [];
  steps.forEach((step, i) => {
    const add = (kind, tone, weight, text) => marks.push({time: i + 1, kind, tone, weight, text});
    if (step.levels_after > step.level) add("level_gained", "good", 2, step.levels_after);
    if (step.state === "GAME_OVER") add("game_over", "bad", 1, "");
    if (step.state === "WIN") add("win", "good", 2, "");
    if (step.action === "RESET") add("reset", "warn", 1, "");
    if (step.wake || step.report) add("wake", "violet", 2, t(step.wake ? `wake_${step.wake}` : "wake"));
  });
  return marks;
}

function graphOf(steps) {
  const edges = new Map(), known = [0], gained = new Set();
  let most = 0;
  steps.forEach((step, i) => {
    for (const state of [step.from, step.to]) if (state !== null) most = Math.max(most, state + 1);
    known.push(most);
    if (step.levels_after > step.level) gained.add(step.to);
    const key = `${step.from},${step.to}`;
    if (step.from !== null && step.to !== null && step.from !== step.to && !edges.has(key)) edges.set(key, [step.from, step.to, i]);
  });
  return {edges: [...edges.values()], known, gained};
}

function chartsOf(steps) {
  const stride = Math.max(1, Math.floor(steps.length / 800));
  const some = steps.map((_, i) => i).filter((i) => i % stride === 0 || i === steps.length - 1);
  const x = some.map((i) => i + 1);
  return [
    {title: "levels_over_actions", kind: "line", cursor: true, height: 130,
      series: [{name: "levels", x, y: some.map((i) => steps[i].levels_after), step: true}]},
    {title: "changed_cells", kind: "line", cursor: true, height: 130,
      series: [{name: "changed_cells", x, y: some.map((i) => steps[i].changed)}]},
  ];
}
