// The field as its file describes it, and the bars over it. Blue's half is red's, turned round.

import {t} from "./i18n.js";

const BADGES = [["rune", "✦"], ["dart", "➤"], ["radar", "◎"]];

function shapes(item, size) {
  const [long, wide] = size;
  const turned = item.side === "red" ? [false, true] : [false];
  return turned.map((turn) => {
    const place = (x, y) => turn ? [long - x, wide - y] : [x, y];
    const owner = item.side === "red" ? (turn ? "blue" : "red") : "both";
    if (item.rect) {
      const [x0, y0, x1, y1] = item.rect;
      return {owner, points: [place(x0, y0), place(x1, y0), place(x1, y1), place(x0, y1)]};
    }
    if (item.poly) return {owner, points: item.poly.map(([x, y]) => place(x, y))};
    if (item.circle) return {owner, circle: [...place(item.circle[0], item.circle[1]), item.circle[2]]};
    if (item.seg) {
      const [x0, y0, x1, y1] = item.seg;
      return {owner, line: [place(x0, y0), place(x1, y1)]};
    }
    return {owner, points: []};
  });
}

function trace(g, shape, at) {
  g.beginPath();
  if (shape.circle) {
    const [x, y] = at(shape.circle[0], shape.circle[1]);
    g.arc(x, y, shape.circle[2] * at.scale, 0, 2 * Math.PI);
    return;
  }
  (shape.points || shape.line).forEach(([x, y], i) => g[i ? "lineTo" : "moveTo"](...at(x, y)));
  if (shape.points) g.closePath();
}

export function drawField(g, field, placed, colours, withZones) {
  const at = (x, y) => [placed.left + x * placed.scale, placed.top + (placed.wide - y) * placed.scale];
  at.scale = placed.scale;
  const [long, wide] = field.size_mm;
  g.fillStyle = colours.ground;
  g.fillRect(placed.left, placed.top, long * placed.scale, wide * placed.scale);
  for (const item of field.ground) {
    for (const shape of shapes(item, field.size_mm)) {
      trace(g, shape, at);
      // the higher the ground, the lighter
      const level = item.slope ? (item.slope.z_at_min + item.slope.z_at_max) / 2 : item.z;
      g.fillStyle = level ? colours.faint : colours.ground;
      g.globalAlpha = level ? 0.45 + Math.min(0.55, level / 700) : 1;
      g.fill();
      g.globalAlpha = 1;
      if (item.slope) slope(g, shape, item, at, colours);
      if (level) {
        g.strokeStyle = colours.line;
        trace(g, shape, at);
        g.stroke();
      }
    }
  }
  for (const item of field.rough) fillAll(g, item, field, at, colours.warn, 0.08);
  for (const item of field.gates) fillAll(g, item, field, at, colours.violet, 0.2);
  if (withZones) {
    for (const item of field.zones) {
      for (const shape of shapes(item, field.size_mm)) {
        if (item.id.startsWith("central")) continue;
        trace(g, shape, at);
        g.strokeStyle = shape.owner === "both" ? colours.muted : colours[shape.owner];
        g.globalAlpha = 0.5;
        g.setLineDash([4, 4]);
        g.stroke();
        g.setLineDash([]);
        g.globalAlpha = 0.05;
        g.fillStyle = g.strokeStyle;
        g.fill();
        g.globalAlpha = 1;
      }
    }
  }
  for (const item of field.solids) {
    for (const shape of shapes(item, field.size_mm)) {
      trace(g, shape, at);
      g.fillStyle = shape.owner === "both" ? colours.muted : colours[shape.owner];
      g.globalAlpha = /^(base|outpost)$/.test(item.id) ? 0.55 : 0.25;
      g.fill();
      g.globalAlpha = 1;
      g.strokeStyle = g.fillStyle;
      g.stroke();
    }
  }
  g.strokeStyle = colours.ink;
  g.globalAlpha = 0.7;
  g.lineWidth = Math.max(1.5, field.walls.thickness_mm * placed.scale);
  for (const item of field.walls.items) {
    for (const shape of shapes(item, field.size_mm)) {
      trace(g, shape, at);
      g.stroke();
    }
  }
  g.globalAlpha = 1;
  g.lineWidth = 1;
  g.strokeStyle = colours.line;
  g.strokeRect(placed.left, placed.top, long * placed.scale, wide * placed.scale);
}

function fillAll(g, item, field, at, colour, alpha) {
  for (const shape of shapes(item, field.size_mm)) {
    trace(g, shape, at);
    g.globalAlpha = alpha;
    g.fillStyle = colour;
    g.fill();
    g.globalAlpha = 1;
  }
}

// Lines across a slope, closer together where it is high.
function slope(g, shape, item, at, colours) {
  g.save();
  trace(g, shape, at);
  g.clip();
  g.strokeStyle = colours.muted;
  g.globalAlpha = 0.35;
  const [a, b, c] = shape.points.map(([x, y]) => at(x, y));
  const along = item.slope.axis === "x" ? [a, b] : [b, c];
  const across = item.slope.axis === "x" ? [c[0] - b[0], c[1] - b[1]] : [a[0] - b[0], a[1] - b[1]];
  for (let i = 1; i < 7; i++) {
    const x = along[0][0] + (along[1][0] - along[0][0]) * i / 7, y = along[0][1] + (along[1][1] - along[0][1]) * i / 7;
    g.beginPath();
    g.moveTo(x, y);
    g.lineTo(x + across[0], y + across[1]);
    g.stroke();
  }
  g.restore();
}

// What stands at a place of the field, in mm: the topmost thing first.
export function regionAt(field, x, y) {
  const [long, wide] = field.size_mm;
  if (x < 0 || y < 0 || x > long || y > wide) return null;
  const names = [];
  for (const [kind, items] of [["solid", field.solids], ["wall", field.walls.items], ["gate", field.gates],
    ["card", field.cards], ["zone", field.zones], ["rough", field.rough], ["ground", field.ground]]) {
    for (const item of items) {
      for (const shape of shapes(item, field.size_mm)) {
        if (!inside(shape, x, y)) continue;
        const owner = shape.owner === "both" ? "" : `${t(shape.owner)} `;
        names.push(`${owner}${item.id.replaceAll("_", " ")} (${kind}${item.z ? ` ${item.z} mm` : ""})`);
      }
    }
  }
  return names.slice(0, 4).join("\n") || null;
}

function inside(shape, x, y) {
  if (shape.circle) return Math.hypot(x - shape.circle[0], y - shape.circle[1]) <= shape.circle[2];
  if (shape.line) {
    const [[x0, y0], [x1, y1]] = shape.line;
    const length = (x1 - x0) ** 2 + (y1 - y0) ** 2;
    const share = Math.max(0, Math.min(1, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length));
    return Math.hypot(x - x0 - share * (x1 - x0), y - y0 - share * (y1 - y0)) < 120;
  }
  let odd = false;
  const {points} = shape;
  for (let i = 0, j = points.length - 1; i < points.length; j = i++) {
    const [xi, yi] = points[i], [xj, yj] = points[j];
    if ((yi > y) !== (yj > y) && x < xi + (xj - xi) * (y - yi) / (yj - yi)) odd = !odd;
  }
  return odd;
}

// Names, buildings, coins and badges of both sides, red from the left and blue from the right.
export function drawBars(g, width, teams, badges, colours, time) {
  const middle = width / 2, reach = middle - 52;
  g.font = "700 18px ui-monospace, monospace";
  g.textAlign = "center";
  g.fillStyle = colours.ink;
  g.fillText(`${Math.floor(time / 60)}:${String(Math.floor(time % 60)).padStart(2, "0")}`, middle, 28);
  for (const team of teams) {
    const red = team.side === "red", colour = colours[team.side];
    const x = (from) => red ? middle - 46 - from : middle + 46 + from;
    const bar = (y, height, share, tint) => {
      g.fillStyle = colours.faint;
      g.fillRect(red ? x(reach) : x(0), y, reach, height);
      g.fillStyle = tint;
      const full = reach * Math.max(0, Math.min(1, share));
      g.fillRect(red ? x(full) : x(0), y, full, height);
    };
    bar(8, 12, team.base_hp / 5000, colour);
    bar(22, 6, team.outpost_hp / 1500, colours.warn);
    g.font = "600 11px system-ui, sans-serif";
    g.textAlign = red ? "right" : "left";
    g.fillStyle = "#fff";
    g.fillText(`${team.base_hp}${team.shield ? ` +${team.shield}` : ""}`, x(6), 18);
    g.fillStyle = colours.muted;
    g.textAlign = red ? "left" : "right";
    const words = [`${t("coins")} ${team.coins}`, `${t("damage")} ${team.attack_damage}`, `${t("tech")} ${team.tech_level}`];
    const shown = reach > 330 ? [team.name, ...words] : reach > 210 ? words : words.slice(0, 1);
    g.fillText(shown.join("  ·  "), x(reach), 44);
    g.textAlign = red ? "left" : "right";
    let at = 0;
    for (const [name, sign] of BADGES) {
      const lit = badges[team.side][name];
      g.fillStyle = lit === "good" ? colours.good : lit ? colours.warn : colours.muted;
      g.globalAlpha = lit ? 1 : 0.4;
      const text = `${sign} ${t(name)}`;
      g.fillText(text, x(reach - at), 60);
      at += g.measureText(text).width + 12;
      g.globalAlpha = 1;
    }
  }
}
