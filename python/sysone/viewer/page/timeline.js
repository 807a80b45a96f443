// The time line: what happened when, and where we are. A press or a drag seeks.

import {Surface, toneColour} from "./dom.js";

export class Timeline {
  constructor(canvas, player, colours, label) {
    this.player = player;
    this.colours = colours;
    this.label = label;
    this.marks = [];
    this.hover = null;
    this.surface = new Surface(canvas, (g, width, height) => this.draw(g, width, height));
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.seek(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.buttons) this.seek(event);
      this.hover = this.nearest(this.surface.place(event)[0]);
      canvas.title = this.hover ? this.label(this.hover) : "";
    });
  }

  get span() {
    return Math.max(1e-9, this.player.duration - this.player.start);
  }

  x(time) {
    return 8 + (this.surface.width - 16) * (time - this.player.start) / this.span;
  }

  seek(event) {
    const [x] = this.surface.place(event);
    const near = this.nearest(x, 4);
    const share = (x - 8) / Math.max(1, this.surface.width - 16);
    this.player.seek(near && !(event.type === "pointermove") ? near.time : this.player.start + share * this.span);
  }

  nearest(x, within = 5) {
    let best = null, distance = within;
    for (const mark of this.marks) {
      const away = Math.abs(this.x(mark.time) - x) - (mark.weight || 0) * 0.5;
      if (away < distance) [best, distance] = [mark, away];
    }
    return best;
  }

  next(by) {
    const now = this.player.time;
    const ahead = by > 0
      ? this.marks.find((mark) => mark.time > now + 1e-6)
      : this.marks.findLast((mark) => mark.time < now - 1e-6);
    if (ahead) this.player.seek(ahead.time);
  }

  draw(g, width, height) {
    const colours = this.colours();
    const middle = height - 14;
    g.fillStyle = colours.line;
    g.fillRect(8, middle - 2, width - 16, 4);
    g.fillStyle = colours.accent;
    g.fillRect(8, middle - 2, Math.max(0, this.x(this.player.time) - 8), 4);
    // Light marks first, so that heavy ones stay on top of them.
    for (const heavy of [false, true]) {
      for (const mark of this.marks) {
        if (Boolean(mark.weight) !== heavy) continue;
        g.fillStyle = toneColour(colours, mark.tone);
        g.globalAlpha = heavy ? 1 : 0.55;
        const tall = heavy ? 16 : 8;
        g.fillRect(this.x(mark.time) - (heavy ? 1.25 : 0.5), middle - 3 - tall, heavy ? 2.5 : 1, tall);
      }
    }
    g.globalAlpha = 1;
    this.ruler(g, width, height, colours);
    const x = this.x(this.player.time);
    g.fillStyle = colours.ink;
    g.beginPath();
    g.arc(x, middle, 6, 0, 2 * Math.PI);
    g.fill();
  }

  ruler(g, width, height, colours) {
    const most = Math.max(2, Math.floor(width / 80));
    const step = [0.1, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200]
      .find((each) => this.span / each <= most) || 14400;
    g.fillStyle = colours.muted;
    g.font = "10px system-ui, sans-serif";
    g.textAlign = "center";
    for (let at = Math.ceil(this.player.start / step) * step; at <= this.player.duration; at += step) {
      const x = Math.min(width - 14, Math.max(14, this.x(at)));
      g.fillText(clock(at, step < 1), x, height - 1);
    }
  }
}

export function clock(seconds, tenths = true) {
  const minutes = Math.floor(seconds / 60);
  const rest = seconds - 60 * minutes;
  const text = tenths ? rest.toFixed(1).padStart(4, "0") : String(Math.floor(rest)).padStart(2, "0");
  return `${minutes}:${text}`;
}
