// The list of experiments: what each asks, how far it is, and what leads.

import { at, post } from "./api.js";
import {
  button,
  choice,
  count,
  el,
  interval,
  many,
  progressBar,
  say,
  shortened,
  stateOf,
  timeLeft,
} from "./dom.js";
import { poll } from "./live.js";
import { row, table } from "./table.js";
import { term } from "./terms.js";

const FILTERS = {
  current: ["all but archived", (one) => !one.archived],
  running: ["running", (one) => !one.archived && !one.settled],
  settled: ["settled", (one) => !one.archived && one.settled],
  doubtful: ["doubtful", (one) => !one.archived && one.warnings.length > 0],
  archived: ["archived", (one) => one.archived],
};
const left = ({ settled, remaining, per_hour }) =>
  settled ? Infinity : remaining?.median == null ? 1e300 : remaining.median / (per_hour || 1e-9);
const SORTS = {
  last: ["latest change", (a, b) => b.last - a.last],
  name: ["name", (a, b) => a.name.localeCompare(b.name)],
  left: ["time left", (a, b) => left(a) - left(b)],
  today: ["pulls today", (a, b) => b.today - a.today],
  pulls: ["rewards", (a, b) => b.pulls - a.pulls],
};
// What was chosen, kept while experiments are looked at.
const view = { search: "", filter: "current", sort: "last" };

function matches({ name, question, owner, answer_name, leader_name }) {
  const text = [name, question, owner, answer_name, leader_name]
    .filter(Boolean)
    .join("\n")
    .toLowerCase();
  return view.search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function line(experiment, archive) {
  const { name, question, owner, warnings } = experiment;
  const best = experiment.answer_name ?? experiment.leader_name;
  const [word, kind] = stateOf(experiment);
  const under = [question === null ? null : name, owner].filter(Boolean).join(" · ");
  return row(
    [
      "Experiment",
      [
        el("a", { href: `#/${encodeURIComponent(name)}` }, shortened(question ?? name, 140)),
        under ? el("span", { class: "under" }, under) : null,
      ],
    ],
    [
      "State",
      [
        el("span", { class: `tag ${kind}` }, word),
        warnings.length
          ? el(
              "span",
              { class: "under doubts", title: warnings.join("\n") },
              many(warnings.length, "warning"),
            )
          : null,
      ],
    ],
    ["How far", progressBar(experiment)],
    [
      experiment.settled ? "Answer" : "Leader",
      best === null
        ? "none yet"
        : [
            shortened(best),
            el(
              "span",
              { class: "under" },
              interval(experiment.value, experiment.value_low, experiment.value_high),
            ),
          ],
    ],
    [
      "Today",
      [
        count(experiment.today),
        el("span", { class: "under" }, `${count(experiment.pulls)} in all`),
      ],
      "numbers",
    ],
    ["Time left", timeLeft(experiment)],
    ["", archive(experiment)],
  );
}

function unreadableLine({ name, error }) {
  return el("p", { class: "error" }, `${name} cannot be read. ${error}`);
}

function empty() {
  return el(
    "div",
    { class: "panel" },
    el("p", {}, "There are no experiments in this database yet. Begin one in the shell:"),
    el(
      "pre",
      { tabindex: 0 },
      el(
        "code",
        {},
        'lingape live new URL NAME arms.csv --binary --epsilon 0.05 --question "Which ad?"',
      ),
    ),
    el("p", {}, "or with POST /api/experiments. It appears here by itself."),
  );
}

export async function showList(page) {
  const search = el("input", {
    type: "search",
    id: "search",
    placeholder: "Question, name, owner or arm",
    value: view.search,
  });
  search.addEventListener("input", () => {
    view.search = search.value;
    draw();
  });
  const pick = (label, key, options) => {
    const made = choice(
      label,
      Object.entries(options).map(([value, [text]]) => [value, text]),
      (value) => {
        view[key] = value;
        draw();
      },
    );
    made.querySelector("select").value = view[key];
    return made;
  };
  const controls = el(
    "p",
    { class: "controls" },
    el("label", { for: "search" }, "Search "),
    search,
    pick("Show", "filter", FILTERS),
    pick("Sort by", "sort", SORTS),
  );
  const { node, body } = table(
    "Experiments in this database",
    [
      "Experiment",
      "State",
      term("how far", "How far"),
      "Answer or leader",
      "Today",
      "Time left",
      el("span", { class: "hidden" }, "Archive"),
    ],
    { name: "list", hidden: true },
  );
  const note = el("p", { class: "note", role: "status" });
  const place = el("div", {});
  let [experiments, unreadable, before] = [[], [], ""];
  const archive = (experiment) => {
    const label = experiment.archived ? "Put back" : "Archive";
    return button(
      label,
      async () => {
        try {
          await post(at(experiment.name, "/archive"), { archived: !experiment.archived });
          await refresh();
        } catch (trouble) {
          say(note, trouble.message);
        }
      },
      { class: "small", "aria-label": `${label}: ${experiment.name}` },
    );
  };
  const draw = () => {
    const named = (node) => node?.getAttribute("href") ?? node?.getAttribute("aria-label");
    const focused = named(document.activeElement);
    const [, fits] = FILTERS[view.filter];
    const shown = experiments.filter((one) => fits(one) && matches(one)).sort(SORTS[view.sort][1]);
    body.replaceChildren(...shown.map((one) => line(one, archive)));
    const none = !experiments.length && !unreadable.length;
    controls.hidden = node.hidden = none;
    place.replaceChildren(...(none ? [empty()] : []), ...unreadable.map(unreadableLine));
    const hidden = experiments.length - shown.length;
    say(
      note,
      hidden ? `${many(shown.length, "experiment")} of ${count(experiments.length)} shown.` : "",
    );
    for (const node of focused ? body.querySelectorAll("a, button") : []) {
      if (named(node) === focused) node.focus(); // its row is a new one
    }
  };
  const refresh = async () => {
    const found = await page.get("experiments");
    const now = JSON.stringify(found);
    if (now === before) return;
    before = now;
    ({ experiments, unreadable } = found);
    draw();
  };
  await refresh();
  page.show(null, el("h1", {}, "Experiments"), controls, node, note, place);
  page.connection("polling");
  await poll(page, refresh);
}
