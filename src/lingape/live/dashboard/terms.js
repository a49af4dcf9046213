// Words that need a short explanation, which is one click away wherever they appear.

import { el } from "./dom.js";

const TERMS = {
  arm: "An option that can be tried: a version of an ad, a prompt, a setting.",
  pull: "One trial of an arm, which pays one reward.",
  reward: "The number that a trial gave: a click (0 or 1), a rating, a measurement.",
  average:
    "What an arm pays on average in the long run. The number is an estimate; the interval is what is proven.",
  interval:
    "The true value is in here. All intervals in a chart hold together, and at all times, with the stated confidence: look as often as you like.",
  confidence:
    "How often such a statement is right, at least: with 95 %, at most 1 experiment of 20 ends with a wrong one.",
  accuracy:
    "ε: how far from the best arm the answer may be. Arms that are this close count as equally good.",
  control: "The arm that is in use now, with which others are compared.",
  lift: "How much more an arm pays than the control, as a difference of averages.",
  leader: "The arm that looks best so far.",
  rival: "The arm that is hardest to rule out beside the leader.",
  "p-value":
    "If this arm were the best, the evidence against it would ever become as strong as it is with at most this probability.",
  evidence:
    "How strongly the rewards speak against this arm being best: 1 divided by its p-value. An arm is ruled out when that reaches 1/δ.",
  "ruled out":
    "The evidence that another arm is better is strong enough for the stated confidence.",
  "how far":
    "The share of the pulls that are made, of all that it will probably take. A forecast, not a promise.",
  gap: "B(t): by how much a rival may still be better than the leader, at most, after t rewards.",
  today: "Rewards since midnight, where the server runs.",
  waiting: "Trials that a worker has asked for and whose reward has not come yet.",
  overdue: "Trials whose reward is late. It still counts when it comes.",
  voided: "Trials that will have no reward, such as when a machine failed.",
  effect:
    "How much more arms with this level pay than arms with the first level, all else being equal.",
  fitted:
    "What the model says an arm pays. If arms differ from it by more than noise explains, the model is wrong.",
  "off by": "Average minus fitted, in standard deviations. Beyond 4 is rare by chance.",
  explorer: "The algorithm that chooses which arm to try next.",
  hash: "A fingerprint of the log, SHA-256. A log that is changed anywhere has another.",
};

let made = 0;

/** Return a word with its explanation: a click shows it. */
export function term(key, text = key) {
  made += 1;
  const id = `term-${made}`;
  const note = el("span", { class: "explanation", id, hidden: true }, ` ${TERMS[key]} `);
  const word = el(
    "button",
    {
      type: "button",
      class: "term",
      title: TERMS[key],
      "aria-expanded": "false",
      "aria-controls": id,
    },
    text,
  );
  word.addEventListener("click", () => {
    note.hidden = !note.hidden;
    word.setAttribute("aria-expanded", String(!note.hidden));
  });
  return [word, note];
}

/** Return the explanations of some words, as a list. */
export function glossary(...keys) {
  return el(
    "dl",
    { class: "glossary" },
    keys.flatMap((key) => [el("dt", {}, key), el("dd", {}, TERMS[key])]),
  );
}
