// The page: header, stage, time line, inspector, events and charts, for whatever is opened.

import {fill, h, readColours, Surface, toneColour} from "./dom.js";
import {Source} from "./data.js";
import {Player, SPEEDS} from "./player.js";
import {clock, Timeline} from "./timeline.js";
import {Charts} from "./charts.js";
import {language, languages, otherLanguage, setLanguage, t, value} from "./i18n.js";
import {trexView} from "./trex.js";
import {arenaView} from "./arena.js";
import {arcView} from "./arc.js";
import {driveView} from "./drive.js";
import {reportView} from "./report.js";

const VIEWS = {trex: trexView, arena: arenaView, arc: arcView, drive: driveView, report: reportView};
const EVENTS_SHOWN = 120;
const INSPECT_EVERY_MS = 90;

class Screen {
  constructor(source) {
    this.source = source;
    this.path = [];
    this.theme = matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
    this.applyTheme();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  applyTheme() {
    document.documentElement.dataset.theme = this.theme;
    document.documentElement.lang = language();
    this.colours = readColours();
  }

  async open(name) {
    if (this.player) this.player.pause();
    if (this.events) this.events.close();
    this.events = null;
    try {
      this.show(name, await this.source.document(name));
    } catch (error) {
      this.refuse(error);
    }
  }

  refuse(error) {
    this.player = this.view = null;
    document.body.replaceChildren(h("main", {class: "refused", id: "refused"},
      h("h1", {}, t("refused")),
      h("p", {}, String(error && error.message || error)),
      this.path.length ? h("button", {onclick: () => this.back()}, t("back")) : null));
  }

  back() {
    this.path.pop();
    this.open(this.path.length ? this.path[this.path.length - 1] : this.source.first);
  }

  enter(name) {
    this.path.push(name);
    this.open(name);
  }

  // `following`: it is another state of what is shown, and news go on coming.
  show(name, doc, following = false) {
    const make = VIEWS[doc.kind];
    if (!make) throw new Error(`${doc.kind}: ${t("unknown_kind")}`);
    delete document.body.dataset.complete;
    this.name = name;
    this.doc = doc;
    this.inspected = 0;
    this.verified = doc.data.verified || null;
    const context = {
      colours: () => this.colours,
      source: this.source,
      name,
      enter: (item) => this.enter(item),
      redraw: () => this.redraw(),
      restart: () => this.show(name, doc),
      refresh: () => this.refresh(),
    };
    this.view = make(doc, context);
    const view = this.view;
    const timed = view.duration !== undefined;
    this.player = timed ? new Player(view.duration, view.step, view.start || 0) : null;
    document.title = `${doc.header.title} · sysone`;
    document.body.replaceChildren(this.header(), h("main", {class: timed ? "timed" : "still"},
      timed ? this.stage() : null,
      view.body ? h("section", {class: "body"}, view.body) : null,
      this.side(timed)));
    this.charts = new Charts(this.chartsAt, this.player, () => this.colours, this.source.served);
    this.charts.show(view.charts || []);
    if (timed) {
      this.player.onChange = () => this.changed();
      if (view.filter) this.player.filter = (before, after) => view.filter(before, after);
      if (doc.live) this.player.seek(view.duration);
      this.changed();
    }
    if (doc.live && this.source.served && !following) this.follow();
    document.body.dataset.ready = doc.kind;
    performance.mark("shown");
    if (doc.more) this.complete(name, doc, view);
  }

  // What takes longer comes when the screen is there; in other words or colours it is there already.
  async complete(name, doc, view) {
    if (!doc.told) doc.told = this.source.more(name).catch((error) => ({refused: error.message}));
    view.complete(await doc.told);
    if (this.view !== view) return;
    document.body.dataset.complete = doc.kind;
    this.changed();
  }

  follow() {
    this.events = this.source.live(this.name, (news) => {
      const atEnd = this.player && this.player.time >= this.player.duration - 1.5;
      if (news.document) {
        this.replace(news.document, atEnd);
        return;
      }
      if (!this.view || !this.view.append) return;
      this.view.append(news);
      this.player.duration = this.view.duration;
      this.timeline.marks = this.view.marks;
      if (atEnd && !this.player.playing) this.player.seek(this.player.duration);
      if (news.ended) this.liveBadge.textContent = t("live_ended");
      this.changed();
    }, (message) => {
      if (this.liveBadge) this.liveBadge.textContent = message;
    });
  }

  replace(doc, atEnd) {
    const {time, speed, playing} = this.player || {};
    const keep = this.view && this.view.keep ? this.view.keep() : null;
    if (this.player) this.player.pause();
    this.show(this.name, doc, true);
    if (keep !== null && this.view.restore) this.view.restore(keep);
    if (this.player) {
      if (speed) this.player.speed = speed;
      if (time !== undefined && !atEnd) this.player.seek(time);
      if (playing) this.player.play();
    }
  }

  header() {
    const {header} = this.doc;
    const verdict = header.verdict;
    this.verifiedAt = h("span", {});
    this.showVerified();
    this.liveBadge = this.doc.live ? h("span", {class: "badge live", id: "live"}, t("live")) : null;
    return h("header", {},
      this.path.length ? h("button", {class: "quiet", id: "back", onclick: () => this.back(), title: t("back")}, "←") : null,
      h("span", {class: `world ${header.world}`}, t(`world_${header.world}`)),
      h("h1", {title: header.title}, header.title),
      verdict ? h("span", {class: `badge ${verdict.tone}`, id: "verdict"}, t(verdict.text, verdict.values)) : null,
      this.verifiedAt, this.liveBadge,
      h("span", {class: "gap"}),
      header.when ? h("time", {}, header.when.replace("T", " ").replace("+00:00", " UTC")) : null,
      h("details", {class: "versions"}, h("summary", {}, t("details")),
        h("dl", {}, [...header.about, ...Object.entries(header.versions)].map(([key, text]) =>
          [h("dt", {}, t(key)), h("dd", {}, text)]))),
      h("button", {class: "quiet", id: "language", title: t("language"), onclick: () => this.nextLanguage()}, otherLanguage()),
      h("button", {class: "quiet", id: "theme", title: t("theme"), onclick: () => this.nextTheme()}, "◐"),
      h("details", {class: "help"}, h("summary", {title: t("keys")}, "?"), h("dl", {}, KEYS.map(([keys, what]) =>
        [h("dt", {}, keys), h("dd", {}, t(what))]))));
  }

  showVerified() {
    if (this.verified) {
      fill(this.verifiedAt, h("span", {class: `badge ${this.verified.tone}`, id: "verified"},
        t(this.verified.text, this.verified.values)));
    } else if (this.doc.can_verify && this.source.served) {
      fill(this.verifiedAt, h("button", {id: "verify", onclick: (event) => this.verify(event.target)}, t("verify")));
    }
  }

  async verify(button) {
    button.disabled = true;
    button.textContent = t("verifying");
    try {
      this.verified = await this.source.verify(this.name);
    } catch (error) {
      this.verified = {text: "verify_refused", values: {message: error.message}, tone: "bad"};
    }
    this.showVerified();
  }

  nextLanguage() {
    setLanguage(languages[(languages.indexOf(language()) + 1) % languages.length]);
    this.again();
  }

  nextTheme() {
    this.theme = this.theme === "light" ? "dark" : "light";
    this.again();
  }

  // The same place in other words or colours.
  again() {
    this.applyTheme();
    if (!this.doc) return;
    const {time, speed} = this.player || {};
    const wasPlaying = this.player && this.player.playing;
    if (this.player) this.player.pause();
    if (this.events) this.events.close();
    const keep = this.view.keep ? this.view.keep() : null;
    this.show(this.name, this.doc);
    if (keep && this.view.restore) this.view.restore(keep);
    if (this.player) {
      this.player.speed = speed;
      this.player.seek(time);
      if (wasPlaying) this.player.play();
    }
  }

  stage() {
    const view = this.view;
    const canvas = h("canvas", {id: "stage", tabindex: "0", "aria-label": t("stage")});
    this.tip = h("div", {class: "tip", hidden: true});
    this.surface = new Surface(canvas, (g, width, height) => {
      const before = performance.now();
      g.fillStyle = this.colours.panel;
      g.fillRect(0, 0, width, height);
      view.draw(g, width, height, this.player.time, this.colours);
      this.drawMs = performance.now() - before;
    });
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("click", (event) => {
      const [x, y] = this.surface.place(event);
      if (view.click && view.click(x, y)) this.changed();
    });
    const button = (id, text, title, act) => h("button", {id, title: t(title), "aria-label": t(title), onclick: act}, text);
    this.playButton = button("play", "▶", "play", () => this.player.toggle());
    this.clockAt = h("output", {id: "clock"});
    this.speedAt = h("select", {id: "speed", title: t("speed"), onchange: (event) => {
      this.player.speed = Number(event.target.value);
    }}, SPEEDS.map((speed) => h("option", {value: speed}, `${speed}×`)));
    const line = h("canvas", {id: "timeline", tabindex: "0", "aria-label": t("timeline")});
    const section = h("section", {class: "show"},
      view.controls ? h("div", {class: "controls"}, view.controls) : null,
      h("div", {class: `stage ${this.doc.kind}`}, canvas, this.tip),
      h("div", {class: "transport"},
        button("home", "|◂", "to_start", () => this.player.seek(this.player.start)),
        button("previous", "◂!", "previous_event", () => this.timeline.next(-1)),
        button("back-step", "‹", "step_back", () => this.player.move(-1)),
        this.playButton,
        button("step", "›", "step", () => this.player.move(1)),
        button("next", "!▸", "next_event", () => this.timeline.next(1)),
        this.speedAt, this.clockAt),
      line);
    this.timeline = new Timeline(line, this.player, () => this.colours,
      (mark) => `${clock(mark.time)} ${t(mark.kind)} ${mark.text ?? ""}`);
    this.timeline.marks = view.marks;
    return section;
  }

  side(timed) {
    this.inspectorAt = h("div", {id: "inspector"});
    this.eventsAt = h("ol", {id: "events"});
    this.chartsAt = h("div", {id: "charts"});
    const heading = (key, count) => h("h2", {}, t(key), count === undefined ? null : h("small", {}, ` ${count}`));
    return h("aside", {},
      timed ? [heading("inspector"), this.inspectorAt] : null,
      this.view.charts && this.view.charts.length ? [heading("charts"), this.chartsAt] : null,
      timed ? [heading("events", this.view.marks.length), this.eventsAt] : null);
  }

  point(event) {
    const [x, y] = this.surface.place(event);
    const text = this.view.hover ? this.view.hover(x, y) : null;
    this.tip.hidden = !text;
    if (text) {
      this.tip.textContent = text;
      this.tip.style.left = `${Math.min(x + 12, this.surface.width - 160)}px`;
      this.tip.style.top = `${y + 12}px`;
    }
  }

  redraw() {
    if (this.surface) this.surface.redraw();
  }

  refresh() {
    this.inspected = 0;
    this.timeline.marks = this.view.marks;
    this.player.duration = this.view.duration;
    this.charts.show(this.view.charts || []);
    this.changed();
  }

  changed() {
    const {player, view} = this;
    this.surface.redraw();
    this.timeline.surface.redraw();
    this.charts.point();
    this.playButton.textContent = player.playing ? "❚❚" : "▶";
    this.playButton.dataset.state = player.playing ? "playing" : "paused";
    if (document.activeElement !== this.speedAt) this.speedAt.value = String(player.speed);
    const where = view.where ? view.where(player.time) : "";
    this.clockAt.textContent = `${clock(player.time)} / ${clock(player.duration)}${where ? ` · ${where}` : ""}`;
    // Text is for reading: it follows the clock more slowly than the picture does.
    const now = performance.now();
    if (!player.playing || now - this.inspected > INSPECT_EVERY_MS) {
      this.inspected = now;
      this.inspect();
      this.listEvents();
    }
  }

  inspect() {
    fill(this.inspectorAt, this.view.inspect(this.player.time).map((section) =>
      h("section", {}, section.title ? h("h3", {}, section.title) : null,
        section.rows && section.rows.length ? h("dl", {}, section.rows.map(([key, what, tone]) =>
          [h("dt", {}, t(key)), h("dd", {class: tone || null}, value(what))])) : null,
        (section.bars || []).map((bar) => this.bar(bar)),
        section.note ? h("p", {class: "note"}, section.note) : null)));
  }

  bar(bar) {
    const share = Math.max(0, Math.min(1, bar.value || 0));
    return h("div", {class: `bar ${bar.mark || ""}`},
      h("span", {class: "name"}, t(bar.name)),
      h("span", {class: "track"}, h("i", {style: {width: `${share * 100}%`, background: toneColour(this.colours, bar.tone)}})),
      h("span", {class: "number"}, bar.text));
  }

  listEvents() {
    const {marks} = this.view;
    const after = marks.findIndex((mark) => mark.time > this.player.time + 1e-9);
    const at = after < 0 ? marks.length : after;
    const begin = Math.max(0, Math.min(at - 20, marks.length - EVENTS_SHOWN));
    const key = `${begin}:${at}:${marks.length}`;
    if (this.eventsAt.dataset.key === key) return;
    this.eventsAt.dataset.key = key;
    fill(this.eventsAt, marks.slice(begin, begin + EVENTS_SHOWN).map((mark, i) =>
      h("li", {class: `${mark.tone || ""}${begin + i < at ? " past" : ""}`},
        h("button", {class: "quiet", onclick: () => this.player.seek(mark.time)},
          h("time", {}, clock(mark.time)), h("b", {}, t(mark.kind)), " ", mark.text ?? ""))));
    const current = this.eventsAt.children[Math.max(0, at - begin - 1)];
    if (current) this.eventsAt.scrollTop = current.offsetTop - this.eventsAt.clientHeight / 3;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const player = this.player;
    const acts = {l: () => this.nextLanguage(), t: () => this.nextTheme(),
      Escape: () => { if (this.path.length) this.back(); }};
    if (player) Object.assign(acts, {
      " ": () => player.toggle(),
      ArrowLeft: () => event.shiftKey ? player.seek(player.time - Math.max(1, player.step)) : player.move(-1),
      ArrowRight: () => event.shiftKey ? player.seek(player.time + Math.max(1, player.step)) : player.move(1),
      Home: () => player.seek(player.start), End: () => player.seek(player.duration),
      n: () => this.timeline.next(1), p: () => this.timeline.next(-1),
      "+": () => player.faster(1), "=": () => player.faster(1), "-": () => player.faster(-1)});
    if (this.view && this.view.keys) Object.assign(acts, this.view.keys);
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

const KEYS = [["space", "key_play"], ["← →", "key_step"], ["shift ← →", "key_second"], ["n p", "key_event"],
  ["+ −", "key_speed"], ["Home End", "key_ends"], ["l", "language"], ["t", "theme"], ["Esc", "back"]];

async function begin() {
  let screen = null;
  try {
    const source = await Source.find();
    screen = new Screen(source);
    await screen.open(source.first);
  } catch (error) {
    if (screen) screen.refuse(error);
    else document.body.replaceChildren(h("main", {class: "refused", id: "refused"}, h("p", {}, String(error))));
  }
  // For tools that look from outside, tests and the export of films among them.
  window.sysoneView = screen;
}

begin();
