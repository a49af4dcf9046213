// Tables that screen readers find their way in, also where style.css shows their rows as cards.

import { count, el, number, shortened } from "./dom.js";

/** Return a table; columns are texts, or nodes with a text. */
export function table(caption, columns, { name = "", hidden = false } = {}) {
  const body = el("tbody", { role: "rowgroup" });
  const heads = columns.map((column) => el("th", { scope: "col", role: "columnheader" }, column));
  const node = el(
    "table",
    { class: `cards ${name}`, role: "table" },
    el("caption", { class: hidden ? "hidden" : null }, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
    body,
  );
  return { node, body };
}

/** Return a row: the first cell names it; each cell is [label, content] or [label, content, class]. */
export function row([, first], ...cells) {
  return el(
    "tr",
    { role: "row" },
    el("th", { scope: "row", role: "rowheader" }, first),
    cells.map(([label, content, name = null]) =>
      el("td", { role: "cell", "data-label": label, class: name }, el("div", {}, content)),
    ),
  );
}

/** Return an arm's name, and its part in the contest. */
export function named(arm, status) {
  const roles = {
    answer: arm.arm === status.answer,
    leader: !status.settled && arm.arm === status.leader,
    rival: !status.settled && arm.arm === status.rival,
    control: arm.arm === status.control,
    retired: arm.retired,
  };
  const tags = Object.entries(roles)
    .filter(([, yes]) => yes)
    .map(([role]) => role);
  return [
    shortened(arm.name),
    ...tags.flatMap((role) => [" ", el("span", { class: `tag ${role}` }, role)]),
  ];
}

/** Return a value as a cell shows it. */
export function shown(value) {
  if (value instanceof Date) return value.toLocaleString("en-GB");
  if (Number.isInteger(value)) return count(value);
  return typeof value === "number" ? number(value) : (value ?? "–");
}
