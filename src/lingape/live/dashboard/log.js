// The event log, newest first: the latest 100, and older ones on request.

import { at } from "./api.js";
import { armName, el, many, number, say, shortened } from "./dom.js";
import { columns } from "./panels.js";

const PAGE = 100;

// How fields are shown in the words of events; others are shown as they are.
const FIELDS = {
  arm: (arm, name) => name(arm),
  arms: (arms) => `${many(arms.length, "arm")} ${arms.length === 1 ? "was" : "were"}`,
  certificate: (certificate) => String(certificate.statement ?? "Settled.").split("\n")[0],
  problem: (problem) => many(problem.arms.length, "arm"),
  reward: (reward) => (reward === null ? "taken back" : number(reward)),
  rewards: (rewards) => `${many(rewards.length, "reward")} ${rewards.length === 1 ? "was" : "were"}`,
  tickets: (tickets, name) => {
    const some = tickets.slice(0, 5).map(([, arm]) => name(arm)).join("; ");
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

function row(event, words, name) {
  const time = new Date(event.time);
  return el(
    "tr",
    { role: "row" },
    el("td", { role: "cell", class: "numbers" }, String(event.seq)),
    el(
      "td",
      { role: "cell", class: "time" },
      Number.isNaN(time.getTime())
        ? String(event.time)
        : el("time", { datetime: event.time, title: time.toLocaleString() }, shown(time)),
    ),
    el("td", { role: "cell" }, el("span", { class: `tag ${event.event}` }, event.event)),
    el("td", { role: "cell", class: "words" }, said(event, words, name)),
  );
}

/** Return the hour, with the day unless it is today. */
function shown(time) {
  const hour = time.toLocaleTimeString("en-GB");
  if (time.toDateString() === new Date().toDateString()) return hour;
  return `${time.toLocaleDateString("en-CA")} ${hour}`;
}

export function showLog(page, name) {
  const body = el("tbody", { role: "rowgroup" });
  const older = el("button", { type: "button" }, "Load older");
  const note = el("p", { class: "note", role: "status" });
  const heading = el("h2", { id: "log-title", tabindex: "-1" }, "Log");
  const node = el(
    "section",
    { class: "panel", id: "log", "aria-labelledby": "log-title" },
    heading,
    el(
      "table",
      { class: "log", role: "table" },
      el("caption", {}, "What happened, newest first"),
      columns("Event", "Time", "Kind", "What"),
      body,
    ),
    el("p", { class: "buttons" }, older),
    note,
  );
  let first = 0; // numbers of the oldest and newest event shown
  let last = 0;
  let more = false; // older events were asked for: keep them
  let known = null;
  const called = (arm) => shortened(armName(known, arm), 60);

  const refill = () => {
    older.hidden = first <= 1;
  };

  older.addEventListener("click", async () => {
    older.disabled = true;
    more = true;
    const after = Math.max(0, first - 1 - PAGE);
    try {
      const limit = first - 1 - after;
      const { events, words } = await page.get(at(name, `/events?after=${after}&limit=${limit}`));
      // Only those that join on: the log may have moved on meanwhile.
      const fitting = events.filter((event) => event.seq < first).reverse();
      body.append(...fitting.map((event) => row(event, words, called)));
      first = after + 1;
      say(note, `Events from ${first} on are shown.`);
    } catch (trouble) {
      say(note, `Older events could not be loaded: ${trouble.message}`);
    }
    older.disabled = false;
    refill();
    (older.hidden ? heading : older).focus();
  });

  return {
    node,
    async update(status) {
      known = status;
      const after = Math.max(last, status.event - PAGE);
      if (status.event > last) {
        const { events, words } = await page.get(at(name, `/events?after=${after}&limit=${PAGE}`));
        if (after > last) {
          body.replaceChildren(); // too much happened at once: begin again with the newest
          first = after + 1;
          more = false;
        }
        if (first === 0) first = 1;
        for (const event of events) {
          if (event.seq <= last) continue;
          body.prepend(row(event, words, called));
          last = event.seq;
        }
      }
      while (!more && body.childElementCount > PAGE) {
        body.lastElementChild.remove();
        first += 1;
      }
      refill();
    },
  };
}
