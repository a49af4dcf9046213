// What the parts of the page share: panels, and tables that screen readers find their way in.

import { el, shortened } from "./dom.js";

/** Return a part of the page under its own heading. */
export function section(id, title, ...content) {
  return el(
    "section",
    { class: "panel", id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title),
    ...content,
  );
}

/** Return the head of a table; names are texts, or heads of columns that were made before. */
export function columns(...names) {
  return el(
    "thead",
    { role: "rowgroup" },
    el(
      "tr",
      { role: "row" },
      ...names.map((name) => (typeof name === "string" ? column({}, name) : name)),
    ),
  );
}

/** Return the head of a column. */
export function column(attributes, ...content) {
  return el("th", { scope: "col", role: "columnheader", ...attributes }, ...content);
}

/** Return a cell of a table. */
export const cell = (name, ...content) => el("td", { role: "cell", class: name }, ...content);

/** Return the cell that names an arm, and says so if it leads. */
export function nameCell(arm, status) {
  const foremost = arm.arm === status.leader ? "leader" : arm.arm === status.rival ? "rival" : null;
  const role = arm.retired ? "retired" : foremost;
  return el(
    "th",
    { scope: "row", role: "rowheader" },
    shortened(arm.name),
    role === null ? null : " ",
    role === null ? null : el("span", { class: `tag ${role}` }, role),
  );
}
