// Arena: the field, robots between their keyframes, shots, buildings, and what a robot is up to.

import {h} from "./dom.js";
import {int32, lastAt} from "./data.js";
import {t, value} from "./i18n.js";
import {drawBars, drawField, regionAt} from "./arena_field.js";

const HZ = 20;  // ticks a second
const TURN = 2 ** 20;  // of headings
const SHOT_MM_S = 25000;
const FLAGS = ["alive", "weak", "invulnerable", "locked", "carrying", "supporting", "deployed"];
const TONES = {kill: ["bad", 2], outpost_destroyed: ["bad", 2], outpost_rebuilt: ["good", 2], base_armour_open: ["bad", 2],
  base_hit: ["warn", 1], rune_start: ["violet", 1], rune_success: ["violet", 2], rune_fail: ["muted", 1],
  dart_launch: ["warn", 1], dart_hit: ["bad", 2], dart_miss: ["muted", 1], radar_double: ["violet", 1],
  assembly_start: ["accent", 0], assembly_done: ["good", 2], assembly_fail: ["muted", 1], module_mounted: ["good", 1],
  level_up: ["good", 0], revived: ["good", 0], launcher_locked: ["warn", 1], penalty: ["bad", 1],
  power_cut: ["warn", 0], drone_lost: ["bad", 1], drone_hit: ["warn", 1], match_end: ["accent", 2], radar_marked: ["muted", 0]};
const SIDES = ["red", "blue"];

export function arenaView(doc, context) {
  const data = doc.data;
  const frames = framesOf(data);
  const shots = shotsOf(data.shots);
  const robots = data.robots.map((robot, k) => ({...robot, k, side: robot.id.split("-")[0], slot: Number(robot.id.split("-")[1]),
    about: data.models[robot.model] || {}, changes: changesOf(data, robot.id)}));
  const last = data.start + data.keyframes.every_ticks * Math.max(0, frames.count - 1);
  const end = Math.min(last, data.result && data.result.ticks ? data.result.ticks : last) || last;
  const view = {start: data.start / HZ, duration: Math.max(end, data.start + 1) / HZ, step: 1 / HZ, selected: null, controls: []};
  view.marks = marksOf(data);
  view.charts = chartsOf(frames, data);
  const counts = countsOf(data);
  const zones = h("input", {type: "checkbox", checked: true, onchange: () => context.redraw()});
  const trails = h("input", {type: "checkbox", onchange: () => context.redraw()});
  view.controls.push(h("label", {}, zones, t("zones")), h("label", {}, trails, t("trails")));
  let placed = {scale: 1, left: 0, top: 0}, background = null, backgroundKey = "";

  view.keep = () => view.selected;
  view.restore = (selected) => { view.selected = selected; };
  view.where = (time) => `${Math.round(time * HZ)}`;

  // Between two keyframes positions go straight and headings the shorter way.
  function robotAt(k, time) {
    const at = Math.max(0, (time * HZ - data.start) / data.keyframes.every_ticks);
    const before = Math.min(frames.count - 1, Math.floor(at)), after = Math.min(frames.count - 1, before + 1);
    const share = Math.min(1, at - before);
    const a = frames.robot(before, k), b = frames.robot(after, k);
    // One that was set somewhere else, a revival for one, does not glide there.
    const leaps = Math.hypot(b.x - a.x, b.y - a.y) > 2500;
    const mix = (name) => leaps ? a[name] : a[name] + (b[name] - a[name]) * share;
    const turn = (name) => {
      const way = ((b[name] - a[name]) % TURN + 1.5 * TURN) % TURN - TURN / 2;
      return (a[name] + way * share) / TURN * 2 * Math.PI;
    };
    return {...a, x: mix("x"), y: mix("y"), z: mix("z"), heading: turn("heading"), gimbal: turn("gimbal"), alive: (a.flags & 1) === 1};
  }

  function teamAt(side, time) {
    const at = Math.min(frames.count - 1, Math.max(0, Math.floor((time * HZ - data.start) / data.keyframes.every_ticks)));
    return frames.team(at, SIDES.indexOf(side));
  }

  function maxHp(robot, tick) {
    const levels = robot.about.hp;
    if (!Array.isArray(levels)) return levels || 1;
    return levels[Math.min(levels.length - 1, Math.max(0, levelOf(counts, robot.id, tick) - 1))] || 1;
  }

  view.draw = (g, width, height, time, colours) => {
    const bar = 68;
    const [long, wide] = data.field.size_mm;
    const scale = Math.min((width - 12) / long, (height - bar - 8) / wide);
    placed = {scale, left: (width - long * scale) / 2, top: bar + (height - bar - 4 - wide * scale) / 2, wide};
    const ratio = window.devicePixelRatio || 1;
    const key = `${width}x${height}:${ratio}:${zones.checked}:${colours.ground}`;
    if (key !== backgroundKey) {
      background = document.createElement("canvas");
      background.width = Math.max(1, Math.round(width * ratio));
      background.height = Math.max(1, Math.round(height * ratio));
      const under = background.getContext("2d");
      under.scale(ratio, ratio);
      drawField(under, data.field, placed, colours, zones.checked);
      backgroundKey = key;
    }
    g.drawImage(background, 0, 0, width, height);
    const tick = time * HZ;
    drawBars(g, width, SIDES.map((side) => ({side, ...teamAt(side, time), name: strategyName(data.strategies[side])})),
      badgesAt(data, tick), colours, time);
    if (trails.checked) drawTrails(g, time, colours);
    drawShots(g, tick, colours);
    for (const robot of robots) drawRobot(g, robot, robotAt(robot.k, time), tick, colours);
  };

  const px = (x) => placed.left + x * placed.scale;
  const py = (y) => placed.top + (placed.wide - y) * placed.scale;

  function drawTrails(g, time, colours) {
    for (const robot of robots) {
      g.strokeStyle = colours[robot.side];
      g.globalAlpha = 0.45;
      g.beginPath();
      for (let back = 8; back >= 0; back -= 0.2) {
        const place = robotAt(robot.k, Math.max(view.start, time - back));
        g[back === 8 ? "moveTo" : "lineTo"](px(place.x), py(place.y));
      }
      g.stroke();
    }
    g.globalAlpha = 1;
  }

  function drawShots(g, tick, colours) {
    const latest = lastAt(shots, tick, (shot) => shot.tick);
    for (let i = latest; i >= 0 && shots[i].tick > tick - 40; i--) {
      const shot = shots[i];
      const age = tick - shot.tick, flight = shot.flight;
      if (age > flight + 5) continue;
      const head = Math.min(1, age / Math.max(0.5, flight)), tail = Math.max(0, head - 0.25);
      const at = (share) => [px(shot.x1 + (shot.x2 - shot.x1) * share), py(shot.y1 + (shot.y2 - shot.y1) * share)];
      g.strokeStyle = colours[SIDES[shot.team]];
      if (age <= flight) {
        g.lineWidth = 1.5;
        g.beginPath();
        g.moveTo(...at(tail));
        g.lineTo(...at(head));
        g.stroke();
      } else if (shot.hit) {
        g.globalAlpha = 1 - (age - flight) / 5;
        g.lineWidth = 2;
        g.beginPath();
        g.arc(...at(1), 3 + (age - flight) * 1.4, 0, 2 * Math.PI);
        g.stroke();
        g.globalAlpha = 1;
      }
    }
    g.lineWidth = 1;
  }

  function drawRobot(g, robot, place, tick, colours) {
    const x = px(place.x), y = py(place.y);
    const size = Math.max(7, Math.max(320, robot.about.radius_mm || 300) * placed.scale * 1.15);
    const colour = colours[robot.side];
    g.lineWidth = 2;
    g.strokeStyle = colour;
    g.fillStyle = colour;
    g.beginPath();
    if (robot.about.role === "aerial") {
      g.moveTo(x, y - size);
      g.lineTo(x + size, y + size * 0.7);
      g.lineTo(x - size, y + size * 0.7);
      g.closePath();
    } else g.arc(x, y, size, 0, 2 * Math.PI);
    if (place.alive) {
      g.globalAlpha = 0.92;
      g.fill();
      g.globalAlpha = 1;
    } else {
      g.fillStyle = colours.panel;
      g.globalAlpha = 0.6;
      g.fill();
      g.globalAlpha = 1;
      g.stroke();
    }
    if (place.alive && robot.about.role !== "aerial") {
      g.strokeStyle = "#fff";
      g.lineWidth = 2;
      g.beginPath();  // where the chassis points
      g.moveTo(x + Math.cos(place.heading) * size * 0.55, y - Math.sin(place.heading) * size * 0.55);
      g.lineTo(x + Math.cos(place.heading) * size, y - Math.sin(place.heading) * size);
      g.stroke();
      g.strokeStyle = colour;
      g.beginPath();  // and the gimbal
      g.moveTo(x + Math.cos(place.gimbal) * size, y - Math.sin(place.gimbal) * size);
      g.lineTo(x + Math.cos(place.gimbal) * size * 1.9, y - Math.sin(place.gimbal) * size * 1.9);
      g.stroke();
    }
    if (place.flags & 4) {
      g.strokeStyle = colours.warn;
      g.setLineDash([3, 3]);
      g.beginPath();
      g.arc(x, y, size + 4, 0, 2 * Math.PI);
      g.stroke();
      g.setLineDash([]);
    }
    if (view.selected === robot.id) {
      g.strokeStyle = colours.ink;
      g.lineWidth = 1.5;
      g.strokeRect(x - size - 6, y - size - 6, 2 * size + 12, 2 * size + 12);
    }
    g.font = `700 ${Math.max(9, Math.round(size))}px system-ui, sans-serif`;
    g.textAlign = "center";
    g.fillStyle = place.alive ? "#fff" : colour;
    g.fillText(String(robot.slot), x, y + size * 0.36);
    if (robot.about.role === "aerial" || !place.alive) return;
    const wide = Math.max(20, size * 2.4), top = y - size - 9;
    meter(g, x - wide / 2, top, wide, 3.5, place.hp / maxHp(robot, tick), place.hp / maxHp(robot, tick) < 0.3 ? colours.bad : colours.good, colours);
    const limit = limitOf(robot.about.heat, levelOf(counts, robot.id, tick));
    if (limit) meter(g, x - wide / 2, top + 4.5, wide, 2, place.heat / 1000 / limit, colours.warn, colours);
  }

  view.click = (x, y) => {
    const found = near(x, y);
    view.selected = found ? found.id : null;
    return true;
  };

  let now = 0;
  const drawn = view.draw;
  view.draw = (g, width, height, time, colours) => {
    now = time;
    drawn(g, width, height, time, colours);
  };

  function near(x, y) {
    let best = null, distance = 18;
    for (const robot of robots) {
      const place = robotAt(robot.k, now);
      const away = Math.hypot(px(place.x) - x, py(place.y) - y);
      if (away < distance) [best, distance] = [robot, away];
    }
    return best;
  }

  view.hover = (x, y) => {
    const robot = near(x, y);
    if (robot) {
      const place = robotAt(robot.k, now);
      return `${robot.id} · ${t(robot.about.role || "robot")}\n${t("hp")} ${place.hp}/${maxHp(robot, now * HZ)}`;
    }
    return regionAt(data.field, (x - placed.left) / placed.scale, placed.wide - (y - placed.top) / placed.scale);
  };

  view.inspect = (time) => {
    const tick = time * HZ;
    const robot = robots.find((each) => each.id === view.selected);
    const sections = [];
    if (robot) sections.push(robotSection(robot, time, tick));
    for (const side of SIDES) {
      const team = teamAt(side, time);
      sections.push({title: `${t(side)} · ${strategyName(data.strategies[side])}`, rows: [
        ["base", `${team.base_hp} + ${team.shield}`, side], ["outpost", team.outpost_hp], ["coins", team.coins],
        ["attack_damage", team.attack_damage], ["tech", team.tech_level],
        ["rune", ["none", "small", "large"][team.rune_buff] || team.rune_buff],
        ["armour_open", Boolean(team.armour_open)]]});
    }
    if (!robot) sections.unshift({note: t("click_robot")});
    return sections;
  };

  function robotSection(robot, time, tick) {
    const place = robotAt(robot.k, time);
    const most = maxHp(robot, tick);
    const flags = FLAGS.slice(1).filter((_, i) => place.flags & (2 << i));
    const level = levelOf(counts, robot.id, tick);
    const limit = limitOf(robot.about.heat, level);
    const act = robot.changes[lastAt(robot.changes, tick, (change) => change[0])];
    const tally = tallyAt(counts, robot.id, tick);
    return {title: `${robot.id} · ${t(robot.about.role || "robot")} ${robot.model}`, rows: [
      ["state", place.alive ? "alive" : "dead", place.alive ? "good" : "bad"], ["chassis", robot.about.chassis], ["level", level],
      ["ammo", place.ammo], ["position", `${(place.x / 1000).toFixed(2)}, ${(place.y / 1000).toFixed(2)}, ${(place.z / 1000).toFixed(2)} m`],
      ["zones", [...tally.zones]], ["kills", tally.kills], ["deaths", tally.deaths],
      ["buffs", flags.map((flag) => t(flag))], ["last_action", act ? actionText(act[1]) : null]],
    bars: [{name: "hp", value: place.hp / most, text: `${place.hp}/${most}`, tone: place.hp / most < 0.3 ? "bad" : "good"},
      ...(limit ? [{name: "heat", value: place.heat / 1000 / limit, text: `${Math.round(place.heat / 1000)}/${limit}`, tone: "warn"}] : [])]};
  }

  return view;
}

function framesOf(data) {
  const {fields, team_fields: teamFields, data: packed} = data.keyframes;
  const words = int32(packed);
  const robots = data.robots.length, wide = fields.length;
  const width = robots * wide + 2 * teamFields.length;
  const count = width ? Math.floor(words.length / width) : 0;
  if (!count) throw new Error("the replay has no keyframes");
  const row = (names, from) => {
    const found = {};
    for (let i = 0; i < names.length; i++) found[names[i]] = words[from + i];
    return found;
  };
  return {count, robot: (frame, k) => row(fields, frame * width + k * wide),
    team: (frame, side) => row(teamFields, frame * width + robots * wide + side * teamFields.length)};
}

function shotsOf(packed) {
  const words = int32(packed), found = [];
  for (let i = 0; i + 8 <= words.length; i += 8) {
    const [tick, team, slot, x1, y1, x2, y2, hit] = words.subarray(i, i + 8);
    const shot = {tick, team, slot, x1: x1 / 1000, y1: y1 / 1000, x2: x2 / 1000, y2: y2 / 1000, hit};
    shot.flight = Math.hypot(shot.x2 - shot.x1, shot.y2 - shot.y1) / SHOT_MM_S * HZ;
    found.push(shot);
  }
  return found.sort((a, b) => a.tick - b.tick);
}

function changesOf(data, id) {
  const [side, slot] = id.split("-");
  return data.actions.filter(([, letter, act]) => letter === side[0] && act && typeof act === "object" && slot in act)
    .map(([tick, , act]) => [tick, act[slot]]);
}

function actionText(act) {
  return Object.entries(act).map(([key, what]) => `${t(key)} ${typeof what === "object" ? JSON.stringify(what).replaceAll('"', "") : value(what)}`).join(" · ") || "–";
}

function strategyName(strategy) {
  if (!strategy) return "?";
  if (strategy.deck) return "deck";
  return `${strategy.key} ${strategy.version}`;
}

function sideOf(event) {
  const who = event.team || event.attacker || event.killer || event.robot || event.winner || "";
  return SIDES.find((side) => String(who).startsWith(side)) || null;
}

function describe(event) {
  return Object.entries(event).filter(([key]) => key !== "tick" && key !== "type").map(([, what]) => value(what)).join(" ");
}

function marksOf(data) {
  const marks = [];
  for (const event of data.events) {
    const known = TONES[event.type];
    if (!known) continue;
    const side = sideOf(event);
    marks.push({time: event.tick / HZ, kind: event.type, text: describe(event), tone: known[0] === "muted" && side ? side : known[0], weight: known[1]});
  }
  for (const [tick, letter, code] of data.errors) {
    marks.push({time: tick / HZ, kind: "strategy_error", text: `${t(letter === "r" ? "red" : "blue")} ${code}`, tone: "bad", weight: 1});
  }
  return marks.sort((a, b) => a.time - b.time);
}

// Level, kills, deaths and zones over time, by robot, in the order of the events.
function countsOf(data) {
  const by = new Map();
  const of = (id) => by.get(id) || by.set(id, []).get(id);
  for (const event of data.events) {
    if (event.type === "level_up") of(event.robot).push([event.tick, "level", event.level]);
    if (event.type === "kill") of(event.killer).push([event.tick, "kills"]);
    if (event.type === "death") of(event.robot).push([event.tick, "deaths"]);
    if (event.type === "zone_enter") of(event.robot).push([event.tick, "enter", event.zone]);
    if (event.type === "zone_leave") of(event.robot).push([event.tick, "leave", event.zone]);
  }
  return by;
}

function levelOf(counts, id, tick) {
  let level = 1;
  for (const [at, kind, what] of counts.get(id) || []) {
    if (at > tick) break;
    if (kind === "level") level = what;
  }
  return level;
}

function tallyAt(counts, id, tick) {
  const found = {kills: 0, deaths: 0, zones: new Set()};
  for (const [at, kind, what] of counts.get(id) || []) {
    if (at > tick) break;
    if (kind === "kills" || kind === "deaths") found[kind]++;
    if (kind === "enter") found.zones.add(what);
    if (kind === "leave") found.zones.delete(what);
  }
  return found;
}

function limitOf(heat, level) {
  if (!Array.isArray(heat)) return heat || 0;
  return heat[Math.min(heat.length - 1, Math.max(0, level - 1))];
}

// What was lit lately for each side: rune, darts, radar.
function badgesAt(data, tick) {
  const found = {red: {}, blue: {}};
  for (const event of data.events) {
    if (event.tick > tick) break;
    const side = sideOf(event);
    if (!side) continue;
    if (event.type === "rune_start") found[side].rune = "lit";
    if (event.type === "rune_success") found[side].rune = "good";
    if (event.type === "rune_fail") delete found[side].rune;
    if (event.type === "dart_gate") found[side].dart = event.state === "closed" ? null : "lit";
    if (event.type === "dart_launch" || event.type === "dart_hit") found[side].dart = tick - event.tick < 60 ? "good" : "lit";
    if (event.type === "radar_marked" && tick - event.tick < 60) found[side].radar = "lit";
    if (event.type === "radar_double" && tick - event.tick < 200) found[side].radar = "good";
  }
  return found;
}

function chartsOf(frames, data) {
  const every = data.keyframes.every_ticks / HZ, x = [], series = {};
  const stride = Math.max(1, Math.floor(frames.count / 600));
  for (const name of ["base_hp", "outpost_hp", "attack_damage"]) series[name] = [[], []];
  for (let i = 0; i < frames.count; i += stride) {
    x.push(data.start / HZ + i * every);
    for (const side of [0, 1]) {
      const team = frames.team(i, side);
      for (const name of Object.keys(series)) series[name][side].push(team[name]);
    }
  }
  return Object.entries(series).map(([name, sides]) => ({title: name, kind: "line", cursor: true, height: 130,
    series: sides.map((y, side) => ({name: SIDES[side], colour: SIDES[side], x, y, step: true}))}));
}

function meter(g, x, y, width, height, share, colour, colours) {
  g.fillStyle = colours.ground;
  g.fillRect(x - 0.5, y - 0.5, width + 1, height + 1);
  g.fillStyle = colour;
  g.fillRect(x, y, width * Math.max(0, Math.min(1, share)), height);
}
