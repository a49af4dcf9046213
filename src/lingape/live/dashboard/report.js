// A report: one experiment as it was at a time, in a file of its own. The data are in the file.

import { details } from "./details.js";
import { el, moment } from "./dom.js";
import { overview } from "./overview.js";

const { answers, made, version } = JSON.parse(document.querySelector("#data").textContent);
const status = answers[""];
const source = async (what) => answers[what];
const parts = details(source, status.name, { files: false }).filter(
  (part) => part.applies?.(status) ?? true,
);
const top = overview(status.name, (id) => document.querySelector(`#${id}`).scrollIntoView());
const main = document.querySelector("#main");
document.title = `${status.question ?? status.name} · lingape`;
main.replaceChildren(
  ...top.nodes,
  ...parts.map((part) =>
    el(
      "section",
      { class: "panel", id: part.id, "aria-labelledby": `${part.id}-title` },
      el("h2", { id: `${part.id}-title` }, part.title),
      part.node,
    ),
  ),
  el(
    "p",
    { class: "note" },
    `As of ${moment(made)}, event ${status.event} of the log. Made by lingape ${version}.`,
  ),
);
window.addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
});
top.update(status);
for (const part of parts) await part.update(status);
document.body.dataset.ready = "yes";
