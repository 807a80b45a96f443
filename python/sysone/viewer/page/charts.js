// Charts: the library is loaded once, after the rest is on screen, and only where charts are.

import {h} from "./dom.js";
import {unpack} from "./data.js";
import {t} from "./i18n.js";

// Taken now: the page replaces what it was delivered with.
const packed = document.getElementById("embedded-charts");
let loading = null;

export function library(served) {
  loading ||= new Promise((resolve) => {
    const add = (source) => {
      const script = h("script", {src: source});
      script.addEventListener("load", () => resolve(window.Plotly || null));
      script.addEventListener("error", () => resolve(null));
      document.head.append(script);
    };
    if (served) return add("charts.js");
    if (!packed) return resolve(null);
    return unpack(packed.textContent).then((text) => {
      add(URL.createObjectURL(new Blob([text], {type: "text/javascript"})));
    });
  });
  return loading;
}

const PALETTE = ["#3b82f6", "#ef4444", "#10b981", "#f59e0b", "#8b5cf6", "#06b6d4", "#ec4899", "#84cc16"];

export class Charts {
  constructor(element, player, colours, served) {
    this.element = element;
    this.player = player;
    this.colours = colours;
    this.served = served;
    this.boxes = [];
    this.made = 0;
  }

  async show(charts) {
    this.specs = charts;
    if (!charts.length) {
      this.element.replaceChildren();
      return;
    }
    const turn = ++this.made;
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
    const plotly = await library(this.served);
    if (turn !== this.made) return;
    this.boxes = [];
    if (!plotly) {
      this.element.replaceChildren(h("p", {class: "note"}, t("charts_missing")));
      return;
    }
    this.element.replaceChildren();
    for (const chart of charts) {
      const place = h("div", {class: "chart"});
      const cursor = h("div", {class: "cursor"});
      const box = h("div", {class: "chart-box"}, h("h3", {}, t(chart.title)), place, cursor);
      this.element.append(box);
      await plotly.newPlot(place, traces(chart, this.colours()), layout(chart, this.colours()),
        {displayModeBar: false, responsive: true});
      if (chart.cursor && this.player) {
        place.on("plotly_click", (event) => this.player.seek(event.points[0].x));
      }
      this.boxes.push({chart, place, cursor, plotly});
    }
    this.element.dataset.ready = "yes";
    this.point();
  }

  // Where the clock is, as a line over each chart: moving an element is all that a frame costs.
  point() {
    if (!this.player) return;
    for (const {chart, place, cursor} of this.boxes) {
      const axis = chart.cursor && place._fullLayout && place._fullLayout.xaxis;
      if (!axis) continue;
      const x = axis._offset + axis.l2p(this.player.time);
      const inside = x >= axis._offset && x <= axis._offset + axis._length;
      cursor.style.opacity = inside ? "1" : "0";
      cursor.style.transform = `translateX(${place.offsetLeft + x}px)`;
    }
  }

  restyle() {
    if (this.specs) this.show(this.specs);
  }
}

function traces(chart, colours) {
  return chart.series.map((series, i) => {
    const colour = colours[series.colour] || series.colour || PALETTE[i % PALETTE.length];
    const common = {name: t(series.name), x: series.x || chart.x, y: series.y};
    if (chart.kind === "bar") return {...common, type: "bar", marker: {color: colour}};
    if (chart.kind === "histogram") {
      return {name: t(series.name), x: series.x, type: "histogram", marker: {color: colour}, opacity: 0.75};
    }
    if (chart.kind === "interval") {
      return {...common, type: "scatter", mode: "markers", marker: {color: colour, size: 8},
        error_y: {type: "data", symmetric: false, color: colour,
          array: series.y.map((y, k) => series.high[k] - y),
          arrayminus: series.y.map((y, k) => y - series.low[k])}};
    }
    return {...common, type: "scatter", mode: chart.points ? "lines+markers" : "lines",
      line: {color: colour, width: 1.5, dash: series.dash, shape: series.step ? "hv" : "linear"}};
  });
}

function layout(chart, colours) {
  const axis = {gridcolor: colours.line, zerolinecolor: colours.line, linecolor: colours.line,
    automargin: true, fixedrange: true};
  const many = chart.series.length > 1;
  return {
    height: chart.height || (many && chart.series.length > 4 ? 260 : 170),
    margin: {l: 34, r: 8, t: many ? 20 : 6, b: chart.xtitle ? 34 : 22},
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: {family: "system-ui, sans-serif", size: 10, color: colours.muted},
    showlegend: many, barmode: chart.kind === "histogram" ? "overlay" : "group",
    legend: {orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: {size: 9}},
    hoverlabel: {font: {size: 11}},
    xaxis: {...axis, title: chart.xtitle ? {text: t(chart.xtitle), standoff: 4} : undefined,
      type: chart.kind === "bar" || chart.kind === "interval" ? "category" : undefined},
    yaxis: {...axis, title: chart.ytitle ? {text: t(chart.ytitle)} : undefined, rangemode: "tozero"},
  };
}
