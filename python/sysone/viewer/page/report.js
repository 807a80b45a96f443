// Reports, sweeps and comparisons: facts, tables whose rows may open something, and charts.

import {h} from "./dom.js";
import {t, value} from "./i18n.js";

export function reportView(doc, context) {
  const {facts = [], tables = [], charts = [], facts_title: title} = doc.data;
  const body = [];
  if (title) body.push(h("h2", {}, t(title)));
  if (facts.length) {
    body.push(h("div", {class: "facts"}, facts.map(([name, what]) =>
      h("div", {class: `fact${String(what).length > 24 ? " long" : ""}`}, h("span", {}, t(name)), h("b", {}, value(what))))));
  }
  for (const table of tables) {
    if (table.rows.length) body.push(h("h2", {}, t(table.title)), h("div", {class: "table"}, tableOf(table, context)));
  }
  return {body, charts};
}

function tableOf(table, context) {
  const opens = (row) => typeof row.item === "string";
  const rows = table.rows.map((row) => h("tr", {
    class: `${row.tone || ""} ${opens(row) ? "opens" : ""}`,
    tabindex: opens(row) ? "0" : null,
    onclick: () => { if (opens(row)) context.enter(row.item); },
    onkeydown: (event) => { if (event.key === "Enter" && opens(row)) context.enter(row.item); },
  }, row.cells.map((cell) => h("td", {title: value(cell)}, value(cell)))));
  return h("table", {}, h("thead", {}, h("tr", {}, table.columns.map((name) => h("th", {}, t(name))))),
    h("tbody", {}, rows));
}
