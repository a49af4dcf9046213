// The top of an experiment: the question, the verdict in plain words, and what it rests on.

import {
  button,
  confidence,
  count,
  el,
  many,
  moment,
  number,
  progressBar,
  say,
  stateOf,
  still,
} from "./dom.js";
import { term } from "./terms.js";

/** The numbers that matter, each with its word, which is explained by a click. */
function factsPart() {
  const list = el("dl", { class: "facts" });
  const places = new Map();
  const show = (key, label, value) => {
    if (!places.has(label)) {
      const place = el("dd", {});
      places.set(label, place);
      list.append(el("div", {}, el("dt", {}, key === null ? label : term(key, label)), place));
    }
    const place = places.get(label);
    place.parentElement.hidden = value === null;
    say(place, value ?? "");
  };
  return {
    node: list,
    update(status) {
      const later =
        status.settled && status.settled_pulls !== null && status.settled_pulls !== status.pulls;
      show(
        "reward",
        "rewards",
        count(status.pulls) + (later ? ` (settled at ${count(status.settled_pulls)})` : ""),
      );
      show("today", "today", still ? null : count(status.today));
      show("waiting", "waiting", count(status.pending));
      show("overdue", "overdue", count(status.overdue));
      show("voided", "voided", count(status.voided));
      show(
        "arm",
        "arms",
        count(status.arms) + (status.retired ? ` (${count(status.retired)} retired)` : ""),
      );
      show("confidence", "confidence", confidence(status.delta));
      show(
        "accuracy",
        "accuracy",
        status.epsilon > 0 ? `within ${number(status.epsilon)}` : "exact",
      );
      show(null, "corrections", status.corrections ? count(status.corrections) : null);
    },
  };
}

/** Return a sentence with the name of the answer or leader set apart, if it begins with that. */
function marked(sentence, { answer_name, leader_name }) {
  const name = answer_name ?? leader_name;
  if (name === null || !sentence.startsWith(`${name} `)) return [sentence];
  return [el("em", {}, name), sentence.slice(name.length)];
}

/** What is asked, what the answer is, and what it rests on. */
export function overview(name, open) {
  const title = el("h1", {});
  const about = el("p", { class: "note about" });
  const notes = el("p", { class: "notes" });
  const tag = el("span", { class: "tag" });
  const verdict = el("p", { class: "verdict" });
  const more = el("p", { class: "verdict-more" });
  const remarks = el("ul", { class: "remarks" });
  const share = el("span", {});
  const bar = el("p", { class: "far" }, term("how far", "How far"), " ", share);
  const exact = button("Exact certificate", () => open("certificate"), { class: "small" });
  const panel = el(
    "section",
    { class: "panel answer", id: "verdict", "aria-label": "Verdict" },
    el("p", {}, tag),
    verdict,
    more,
    bar,
    remarks,
    el("p", { class: "buttons" }, exact),
  );
  const facts = factsPart();
  const checked = el("div", {});
  const assumed = el("ul", { class: "assumptions" });
  const rests = el(
    "section",
    { class: "panel", id: "rests", "aria-labelledby": "rests-title" },
    el("h2", { id: "rests-title" }, "What it rests on"),
    facts.node,
    checked,
    el("details", {}, el("summary", {}, "What is assumed"), assumed),
  );
  let before = {};
  /** Draw a part only if it changed, so that focus, selections and open explanations rest. */
  const once = (key, data, draw) => {
    const now = JSON.stringify(data);
    if (before[key] !== now) draw();
    before[key] = now;
  };
  return {
    nodes: [title, about, notes, panel, rests],
    update(status) {
      title.textContent = status.question ?? name;
      const owner = status.owner === null ? "" : ` · ${status.owner}`;
      const named = status.question === null ? "" : `${name} · `;
      about.textContent = `${named}since ${moment(status.began)}${owner}${status.archived ? " · archived" : ""}`;
      notes.textContent = status.notes ?? "";
      notes.hidden = status.notes === null;
      const [word, kind] = stateOf(status);
      tag.className = `tag ${kind}`;
      tag.textContent = word;
      panel.classList.toggle(
        "good",
        kind === "good" && status.certificate.settled && status.certificate.proven,
      );
      panel.classList.toggle(
        "bad",
        kind === "bad" ||
          (status.settled && !(status.certificate.settled && status.certificate.proven)),
      );
      const [first = "", ...rest] = status.verdict;
      once("verdict", status.verdict, () => {
        verdict.replaceChildren(...marked(first, status));
        more.replaceChildren(...marked(rest.join(" "), status));
      });
      once("remarks", status.remarks, () =>
        remarks.replaceChildren(...status.remarks.map((one) => el("li", {}, one))),
      );
      once("share", [status.share_done, status.ruled_out], () =>
        share.replaceChildren(progressBar(status)),
      );
      bar.hidden = status.settled;
      facts.update(status);
      const { check, certificate } = status;
      once("checked", [check.warnings, check.statement], () => {
        const link = button("Model check", () => open("check"), { class: "small" });
        checked.replaceChildren(
          ...(check.warnings.length
            ? [
                el(
                  "ul",
                  { class: "warnings" },
                  check.warnings.map((one) => el("li", {}, one)),
                ),
                el("p", { class: "buttons" }, link),
              ]
            : [el("p", {}, `${check.statement} `, link)]),
        );
      });
      rests.classList.toggle("bad", check.warnings.length > 0);
      once("assumed", certificate.assumptions, () =>
        assumed.replaceChildren(...certificate.assumptions.map((text) => el("li", {}, text))),
      );
    },
    sentence: (status) => `${many(status.pulls, "reward")}. ${status.verdict.join(" ")}`,
  };
}
