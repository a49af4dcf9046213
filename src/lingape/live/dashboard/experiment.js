// One experiment, as a report: the question, the verdict, what it rests on, and details on tabs.

import { at, post } from "./api.js";
import { saver } from "./certificate.js";
import { details } from "./details.js";
import { button, el, say } from "./dom.js";
import { follow } from "./live.js";
import { logPart } from "./log.js";
import { overview } from "./overview.js";
import { tabs } from "./tabs.js";

const QUIET = 60_000; // ms between announcements, unless the leader changes or it is settled

/** Return a function that has screen readers told of what matters, and not of every reward. */
function announcer(page) {
  let told = null;
  let time = 0;
  return (status, sentence) => {
    const what = `${status.settled} ${status.leader}`;
    if (what === told && Date.now() - time < QUIET) return;
    told = what;
    time = Date.now();
    page.announce(sentence);
  };
}

/** Return a button that takes the experiment off the list or puts it back, and what came of it. */
function archiver(name, changed) {
  const note = el("span", { class: "note", role: "status" });
  let archived = false;
  const node = button("Archive", async () => {
    node.disabled = true;
    try {
      await post(at(name, "/archive"), { archived: !archived });
      say(note, "");
      await changed();
    } catch (trouble) {
      say(note, trouble.message);
    }
    node.disabled = false;
  });
  return {
    nodes: [node, note],
    update(status) {
      archived = status.archived;
      say(node, archived ? "Put back on the list" : "Archive");
    },
  };
}

export async function showExperiment(page, name, tab) {
  const source = (what, query = "") => page.get(at(name, `${what}${query}`));
  let status = await source("");
  const parts = [...details(source, name, { files: true }), logPart(source)];
  const shelf = tabs(parts, tab, {
    chosen: (id) => {
      page.remember(name, id);
      return draw();
    },
  });
  const top = overview(name, (id) => shelf.open(id));
  const announce = announcer(page);
  let drawn = null; // what the page shows
  const version = ({ event, overdue, today }) => `${event} ${overdue} ${today}`;

  const draw = async () => {
    top.update(status);
    archive.update(status);
    document.title = `${status.settled && !status.warnings.length ? "✓ " : ""}${status.question ?? name} · lingape`;
    announce(status, top.sentence(status));
    const now = version(status);
    if (await shelf.update(status, page.signal)) drawn = now;
    else page.again(refresh);
  };
  const refresh = async () => {
    status = await source("");
    if (version(status) !== drawn) await draw();
  };
  const archive = archiver(name, refresh);
  page.show(
    name,
    el("p", { class: "crumb" }, el("a", { href: "#/" }, "All experiments")),
    ...top.nodes,
    ...shelf.nodes,
    el(
      "p",
      { class: "buttons end-of-page" },
      saver("Save as a report", at(name, "/report"), `${name}.html`),
      ...archive.nodes,
    ),
  );
  await draw();
  await follow(page, at(name, "/stream"), refresh);
}
