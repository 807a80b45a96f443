// Drive: the map from above, the route and everybody on it, and what moved the score.

import {h} from "./dom.js";
import {lastAt} from "./data.js";
import {t, value} from "./i18n.js";

const CAR = [2.45, 1.06];  // half length and width of the driven car, m
const LIGHTS = {Red: "#ff4d4d", Yellow: "#f5b544", Green: "#3ecf8e"};
const TONES = [[/collision/, "bad", 2], [/red_light|stop_inf|run_/, "bad", 2], [/timeout|block|deviat|outside|yield/, "warn", 2],
  [/min_speed/, "muted", 0], [/complet/, "good", 2]];

export function driveView(doc, context) {
  const data = doc.data, {columns, x: xs, y: ys} = data;
  const count = xs.length, times = columns.sim_time;
  const view = {step: data.dt, start: times[0] || 0, duration: times[count - 1], controls: [], zoom: null, marks: marksOf(data, times)};
  const follow = h("input", {type: "checkbox", checked: true, onchange: () => context.redraw()});
  // A file of its own holds some of the camera's frames: what is there of them is shown.
  const pictures = data.pictures.filter((tick) => context.source.picture(`${data.folder}/${tick}`) !== null);
  const camera = h("input", {type: "checkbox", checked: pictures.length > 0, onchange: () => context.redraw()});
  view.controls.push(h("label", {}, follow, t("follow")), h("label", {}, camera, t("camera")));
  view.controls.push(h("span", {}, data.again ? t("actors_again") : t("actors_unknown")));
  view.charts = chartsOf(data, times);
  view.where = (time) => `${t("completion")} ${columns.route_completion[indexAt(time)].toFixed(1)} %`;
  const indexAt = (time) => Math.max(0, lastAt(times, time + 1e-9));
  const frame = new Image();
  let wanted = "", shownPicture = "";
  frame.onload = () => { shownPicture = wanted; context.redraw(); };

  // CARLA's y points right of x: drawn downwards, the map is not mirrored.
  function camera2d(width, height, at) {
    if (follow.checked) return {scale: Math.min(width, height) / 90, cx: xs[at], cy: ys[at]};
    const all = data.route ? data.route : xs.map((x, i) => [x, ys[i]]);
    const [left, right] = [Math.min(...all.map((p) => p[0])), Math.max(...all.map((p) => p[0]))];
    const [top, bottom] = [Math.min(...all.map((p) => p[1])), Math.max(...all.map((p) => p[1]))];
    return {scale: Math.min(width / (right - left + 40), height / (bottom - top + 40)), cx: (left + right) / 2, cy: (top + bottom) / 2};
  }

  view.draw = (g, width, height, time, colours) => {
    const at = indexAt(time);
    const beside = camera.checked && pictures.length > 0;
    const wide = width > 640;
    const mapWidth = beside && wide ? width * 0.56 : width, mapHeight = beside && !wide ? height * 0.6 : height;
    const {scale, cx, cy} = camera2d(mapWidth, mapHeight, at);
    const px = (x) => mapWidth / 2 + (x - cx) * scale, py = (y) => mapHeight / 2 + (y - cy) * scale;
    g.save();
    g.beginPath();
    g.rect(0, 0, mapWidth, mapHeight);
    g.clip();
    g.fillStyle = colours.ground;
    g.fillRect(0, 0, mapWidth, mapHeight);
    if (data.map) drawMap(g, px, py, scale, colours);
    if (data.route) {
      line(g, data.route, px, py);
      g.strokeStyle = colours.accent;
      g.globalAlpha = 0.5;
      g.lineWidth = Math.max(2, 0.8 * scale);
      g.stroke();
      g.globalAlpha = 1;
    }
    g.beginPath();
    for (let i = 0; i <= at; i += 4) g[i ? "lineTo" : "moveTo"](px(xs[i]), py(ys[i]));
    g.strokeStyle = colours.good;
    g.lineWidth = 2;
    g.stroke();
    if (data.map) drawLights(g, at, px, py, scale, colours);
    for (const mark of view.marks) {
      if (mark.weight < 2 || mark.time > time) continue;
      const place = indexAt(mark.time);
      g.fillStyle = colours.bad;
      g.font = "700 15px system-ui, sans-serif";
      g.textAlign = "center";
      g.fillText("✕", px(xs[place]), py(ys[place]) + 5);
    }
    for (const actor of actorsAt(at)) drawBox(g, px, py, scale, actor, /walker|pedestrian/.test(actor.kind) ? colours.violet : colours.warn);
    drawBox(g, px, py, scale, {x: xs[at], y: ys[at], yaw: columns.ego_yaw[at] || 0, length: CAR[0], width: CAR[1]}, colours.accent, true);
    drawDial(g, at, mapWidth, mapHeight, colours);
    g.restore();
    if (beside) drawCamera(g, at, wide ? mapWidth : 0, wide ? 0 : mapHeight, wide ? width - mapWidth : width, wide ? height : height - mapHeight, colours);
  };

  function drawMap(g, px, py, scale, colours) {
    g.lineCap = "square";  // lanes are sampled and end a little before their ends
    for (const lane of data.map.lanes) {
      line(g, lane, px, py);
      g.strokeStyle = colours.faint;
      g.lineWidth = Math.max(1, (lane[0][2] || 3.5) * scale * 0.96);
      g.stroke();
    }
    for (const box of data.map.boxes) {
      if (box.kind !== "stop") continue;
      drawBox(g, px, py, scale, box, colours.bad, false, 0.35);
    }
  }

  function drawLights(g, at, px, py, scale, colours) {
    const states = lightsAt(at);
    for (const box of data.map.boxes) {
      if (box.kind !== "light") continue;
      const state = states.get(box.id);
      drawBox(g, px, py, scale, box, LIGHTS[state] || colours.muted, false, 0.45);
      g.fillStyle = LIGHTS[state] || colours.muted;
      g.beginPath();
      g.arc(px(box.x), py(box.y), Math.max(2.5, 0.9 * scale), 0, 2 * Math.PI);
      g.fill();
    }
  }

  function lightsAt(at) {
    const states = new Map();
    if (data.again) {
      for (const [tick, light, state] of data.again.lights) {
        if (tick > at) break;
        states.set(light, state);
      }
    } else if (columns.traffic_light_id[at] !== null) states.set(columns.traffic_light_id[at], columns.traffic_light_state[at]);
    return states;
  }

  function actorsAt(at) {
    if (!data.again || !data.again.actors[at]) return [];
    const flat = data.again.actors[at], found = [];
    for (let i = 0; i < flat.length; i += 4) {
      const [kind, length, width] = data.again.kinds[flat[i]];
      found.push({id: flat[i], kind, x: flat[i + 1], y: flat[i + 2], yaw: flat[i + 3], length, width});
    }
    return found;
  }

  function drawDial(g, at, width, height, colours) {
    const [throttle, brake, steer] = data.controls[at];
    const left = 14, bottom = height - 14;
    g.globalAlpha = 0.85;
    g.fillStyle = colours.panel;
    g.beginPath();
    g.roundRect(left - 6, bottom - 62, 190, 68, 8);
    g.fill();
    g.globalAlpha = 1;
    g.textAlign = "left";
    g.fillStyle = colours.ink;
    g.font = "700 22px system-ui, sans-serif";
    g.fillText(`${(3.6 * columns.ego_speed[at]).toFixed(0)}`, left + 4, bottom - 24);
    g.font = "11px system-ui, sans-serif";
    g.fillStyle = colours.muted;
    g.fillText("km/h", left + 4, bottom - 6);
    for (const [i, share, colour] of [[0, throttle, colours.good], [1, brake, colours.bad]]) {
      g.fillStyle = colours.faint;
      g.fillRect(left + 62 + i * 16, bottom - 52, 10, 48);
      g.fillStyle = colour;
      g.fillRect(left + 62 + i * 16, bottom - 4 - 48 * share, 10, 48 * share);
    }
    g.strokeStyle = colours.ink;
    g.lineWidth = 2.5;
    g.beginPath();
    g.arc(left + 140, bottom - 28, 22, 0, 2 * Math.PI);
    g.moveTo(left + 140, bottom - 28);
    g.lineTo(left + 140 + 22 * Math.sin(steer * 1.6), bottom - 28 - 22 * Math.cos(steer * 1.6));
    g.stroke();
    g.lineWidth = 1;
  }

  function drawCamera(g, at, left, top, width, height, colours) {
    const near = pictures[lastAt(pictures, at + 1)];
    const source = near === undefined ? null : context.source.picture(`${data.folder}/${near}`);
    if (source && source !== wanted) {
      wanted = source;
      frame.src = source;
    }
    if (!frame.complete || !frame.naturalWidth) return;
    const scale = Math.min((width - 16) / frame.naturalWidth, (height - 16) / frame.naturalHeight);
    g.drawImage(frame, left + 8, top + 8, frame.naturalWidth * scale, frame.naturalHeight * scale);
    g.strokeStyle = colours.line;
    g.strokeRect(left + 8, top + 8, frame.naturalWidth * scale, frame.naturalHeight * scale);
  }

  view.inspect = (time) => {
    const at = indexAt(time);
    const sections = [{title: `${t("route")} ${doc.header.title}`, rows: [["completion", `${columns.route_completion[at].toFixed(1)} %`],
      ["speed", `${columns.ego_speed[at].toFixed(2)} m/s`], ["speed_limit", columns.speed_limit[at] === null ? null : `${columns.speed_limit[at].toFixed(1)} m/s`],
      ["light", columns.traffic_light_state[at], {Red: "bad", Green: "good", Yellow: "warn"}[columns.traffic_light_state[at]]],
      ["road", `${columns.road_id[at]}, ${columns.lane_id[at]}${columns.is_junction[at] ? " ×" : ""}`],
      ["control_source", columns.control_source[at]], ["infer_ms", columns.infer_ms[at] === null ? null : `${columns.infer_ms[at].toFixed(1)} ms`],
      ["actors", data.again ? actorsAt(at).length : null]],
    bars: ["throttle", "brake"].map((name, i) => ({name, value: data.controls[at][i], text: data.controls[at][i].toFixed(2), tone: i ? "bad" : "good"}))}];
    for (const [name, score] of Object.entries(data.scores)) {
      const moved = Object.entries(score.infractions || {}).filter(([, found]) => found.length);
      sections.push({title: `${name}${name === data.profile ? " ●" : ""}`, rows: [["driving_score", score.score_composed],
        ["status", score.status], ["penalty_factor", score.score_penalty],
        ...moved.map(([kind, found]) => [kind, `×${found.length}`, kind.startsWith("min_speed") ? null : "bad"])]});
    }
    if (!data.pictures.length) sections.push({note: t("no_camera")});
    else if (!pictures.length) sections.push({note: t("not_embedded")});
    return sections;
  };
  return view;
}

function line(g, points, px, py) {
  g.beginPath();
  points.forEach((point, i) => g[i ? "lineTo" : "moveTo"](px(point[0]), py(point[1])));
}

function drawBox(g, px, py, scale, box, colour, nose = false, alpha = 1) {
  g.save();
  g.translate(px(box.x), py(box.y));
  g.rotate(box.yaw);
  g.globalAlpha = alpha;
  g.fillStyle = colour;
  const length = Math.max(2, box.length * scale), width = Math.max(1.5, box.width * scale);
  g.fillRect(-length, -width, 2 * length, 2 * width);
  if (nose) {
    g.fillStyle = "#fff";
    g.fillRect(length * 0.3, -width * 0.7, length * 0.25, width * 1.4);
  }
  g.restore();
}

function marksOf(data, times) {
  const marks = [];
  for (const event of data.events) {
    const [, tone, weight] = TONES.find(([pattern]) => pattern.test(event.type)) || [null, "accent", 1];
    marks.push({time: event.sim_time ?? times[Math.max(0, (event.tick || 1) - 1)] ?? 0, kind: event.type, tone, weight, text: event.message || ""});
  }
  let light = null;
  data.columns.traffic_light_state.forEach((state, i) => {
    if (state && state !== light) marks.push({time: times[i], kind: "light", tone: {Red: "bad", Green: "good", Yellow: "warn"}[state], weight: 0, text: state});
    light = state;
  });
  return marks.sort((a, b) => a.time - b.time);
}

function chartsOf(data, times) {
  const stride = Math.max(1, Math.floor(times.length / 800));
  const some = times.map((_, i) => i).filter((i) => i % stride === 0);
  const x = some.map((i) => times[i]), of = (values) => some.map((i) => values[i]);
  const charts = [
    {title: "speed_ms", kind: "line", cursor: true, height: 140, series: [{name: "speed", x, y: of(data.columns.ego_speed)},
      {name: "speed_limit", x, y: of(data.columns.speed_limit), dash: "dot", colour: "muted"}]},
    {title: "completion", kind: "line", cursor: true, height: 130, series: [{name: "completion", x, y: of(data.columns.route_completion), colour: "good"}]},
  ];
  const names = Object.keys(data.scores);
  if (names.length) {
    charts.push({title: "driving_score", kind: "bar", x: names, height: 130,
      series: [{name: "driving_score", y: names.map((name) => data.scores[name].score_composed)}]});
  }
  return charts;
}
