// The list of experiments.

import { count, el, many, shortened } from "./dom.js";
import { poll } from "./live.js";
import { columns } from "./panels.js";

/** Return whether it is settled; where the model check warns, not as if all were well. */
function state({ settled, warnings }) {
  const word = settled ? "settled" : "running";
  if (!warnings.length) return [el("span", { class: settled ? "tag good" : "tag" }, word)];
  return [
    el("span", { class: "tag bad" }, `${word}, but doubtful`),
    " ",
    el("span", { class: "doubts", title: warnings.join("\n") }, many(warnings.length, "warning")),
  ];
}

function row(experiment) {
  const best = experiment.answer_name ?? experiment.leader_name;
  const cell = (label, ...content) =>
    el("td", { role: "cell", "data-label": label }, ...content);
  return el(
    "tr",
    { role: "row" },
    el(
      "th",
      { scope: "row", role: "rowheader" },
      el("a", { href: `#/${encodeURIComponent(experiment.name)}` }, experiment.name),
    ),
    cell("State", ...state(experiment)),
    cell("Answer or leader", shortened(best === null ? "none yet" : best)),
    cell("Pulls", count(experiment.pulls)),
    cell("Pending", count(experiment.pending)),
    cell("Overdue", count(experiment.overdue)),
    cell("Arms", count(experiment.arms)),
  );
}

function damaged({ name, error }) {
  return el("p", { class: "error" }, `${name}: damaged. ${error}`);
}

function empty() {
  return el(
    "div",
    { class: "panel" },
    el("p", {}, "There are no experiments in this database yet. Begin one in the shell:"),
    el("pre", {}, el("code", {}, "lingape live new URL NAME arms.csv --binary --epsilon 0.05")),
    el("p", {}, "or with POST /api/experiments. It appears here by itself."),
  );
}

const HEADINGS = [
  "Experiment",
  "State",
  "Answer or leader",
  "Pulls",
  "Pending",
  "Overdue",
  "Arms",
];

export async function showList(page) {
  const body = el("tbody", { role: "rowgroup" });
  const table = el(
    "table",
    { class: "list cards", role: "table" },
    el("caption", { class: "hidden" }, "Experiments in this database"),
    columns(...HEADINGS),
    body,
  );
  const place = el("div", {});
  let before = "";
  const refresh = async () => {
    const { experiments, unreadable } = await page.get("experiments");
    const now = JSON.stringify([experiments, unreadable]);
    if (now === before) return;
    before = now;
    const focused = document.activeElement?.getAttribute("href");
    body.replaceChildren(...experiments.map(row));
    const none = !experiments.length && !unreadable.length;
    place.replaceChildren(none ? empty() : table, ...unreadable.map(damaged));
    for (const link of body.querySelectorAll("a")) {
      if (link.getAttribute("href") === focused) link.focus(); // its row is a new one
    }
  };
  await refresh();
  page.show(null, el("h1", {}, "Experiments"), place);
  page.connection("polling");
  await poll(page, refresh);
}
