// The event log, newest first, a page at a time.

import { armName, button, count, el, many, number, say, shortened } from "./dom.js";
import { table } from "./table.js";

const PAGE = 25;

// How fields are shown in the words of events; others are shown as they are.
const FIELDS = {
  archived: (archived) => (archived ? "Taken off the list" : "Put back on the list"),
  arm: (arm, name) => name(arm),
  arms: (arms) => `${many(arms.length, "arm")} ${arms.length === 1 ? "was" : "were"}`,
  certificate: (certificate) => String(certificate.statement ?? "Settled.").split("\n")[0],
  problem: (problem) => many(problem.arms.length, "arm"),
  reward: (reward) => (reward === null ? "taken back" : number(reward)),
  rewards: (rewards) =>
    `${many(rewards.length, "reward")} ${rewards.length === 1 ? "was" : "were"}`,
  tickets: (tickets, name) => {
    const some = tickets
      .slice(0, 5)
      .map(([, arm]) => name(arm))
      .join("; ");
    return `${many(tickets.length, "arm")}: ${some}${tickets.length > 5 ? "; …" : ""}`;
  },
  worker: (worker) => (worker === null ? "Somebody" : shortened(worker, 40)),
};

/** Return the words for an event, {field} by {field}; the server has them for each kind. */
function said(event, words, name) {
  return (words[event.event] ?? event.event).replace(/\{(\w+)\}/g, (_, field) =>
    FIELDS[field] ? FIELDS[field](event[field], name) : String(event[field]),
  );
}

function line(event, words, name) {
  const time = new Date(event.time);
  const cell = (label, content, kind = null) =>
    el("td", { role: "cell", "data-label": label, class: kind }, content);
  return el(
    "tr",
    { role: "row" },
    cell("Event", String(event.seq), "numbers"),
    cell(
      "Time",
      Number.isNaN(time.getTime())
        ? String(event.time)
        : el("time", { datetime: event.time, title: time.toLocaleString() }, shown(time)),
      "time",
    ),
    cell("Kind", el("span", { class: `tag ${event.event}` }, event.event)),
    cell("What", said(event, words, name), "words"),
  );
}

/** Return the hour, with the day unless it is today. */
function shown(time) {
  const hour = time.toLocaleTimeString("en-GB");
  if (time.toDateString() === new Date().toDateString()) return hour;
  return `${time.toLocaleDateString("en-CA")} ${hour}`;
}

/** What happened, newest first. */
export function logPart(source) {
  const { node: shownTable, body } = table(
    "What happened, newest first",
    ["Event", "Time", "Kind", "What"],
    { name: "log", hidden: true },
  );
  const place = el("span", { role: "status" });
  const newer = button("Newer", () => turn(PAGE));
  const older = button("Older", () => turn(-PAGE));
  let status = null;
  let top = null; // the newest event shown; null to follow the log
  let drawn = "";
  const called = (arm) => shortened(armName(status, arm), 60);
  const turn = async (by) => {
    const next = Math.max(Math.min(PAGE, status.event), (top ?? status.event) + by);
    top = next >= status.event ? null : next;
    try {
      await load();
    } catch (trouble) {
      say(place, `These events could not be loaded: ${trouble.message}`);
    }
  };
  const load = async () => {
    const last = top ?? status.event;
    const after = Math.max(0, last - PAGE);
    if (drawn === `${after} ${last}`) return;
    const { events, words } = await source("/events", `?after=${after}&limit=${last - after}`);
    if (last !== (top ?? status.event)) return; // another page was asked for since
    body.replaceChildren(...events.reverse().map((event) => line(event, words, called)));
    drawn = `${after} ${last}`;
    say(place, `${count(after + 1)} to ${count(last)} of ${count(status.event)}`);
    newer.disabled = top === null;
    older.disabled = after === 0;
  };
  return {
    id: "log",
    title: "Log",
    node: el("div", {}, shownTable, el("p", { class: "buttons" }, newer, place, older)),
    async update(now) {
      status = now;
      await load();
    },
  };
}
