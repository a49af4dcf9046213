// Tabs: one part with details at a time. Only the one that is shown is kept up to date.

import { el, say } from "./dom.js";

/**
 * Return tabs for parts.
 *
 * parts: {id, title, node, update(status, signal), applies(status)}; the last is optional.
 * wanted: the id of the one to open first, if there is one of that name.
 * chosen: called with the id when another one is opened.
 */
export function tabs(parts, wanted, { chosen }) {
  const bar = el("div", { class: "tabs", role: "tablist", "aria-label": "Details" });
  const panels = el("div", {});
  let current = parts.find((part) => part.id === wanted) ?? parts[0];
  const handles = parts.map((part) => {
    const handle = el(
      "button",
      { type: "button", role: "tab", id: `tab-${part.id}`, "aria-controls": `panel-${part.id}` },
      part.title,
    );
    const panel = el(
      "section",
      {
        class: "panel",
        role: "tabpanel",
        id: `panel-${part.id}`,
        "aria-labelledby": `tab-${part.id}`,
      },
      el("h2", { class: "hidden" }, part.title),
      part.node,
    );
    handle.addEventListener("click", () => open(part.id));
    bar.append(handle);
    panels.append(panel);
    const trouble = el("p", { class: "error", role: "status" });
    panel.append(trouble);
    return { part, handle, panel, trouble };
  });
  const show = () => {
    for (const { part, handle, panel } of handles) {
      const on = part === current;
      handle.setAttribute("aria-selected", String(on));
      handle.setAttribute("tabindex", on ? "0" : "-1");
      panel.hidden = !on;
      if (on) bar.scrollLeft = handle.offsetLeft - bar.offsetLeft - 40; // on a phone not all fit
    }
  };
  const open = (id) => {
    const found = parts.find((part) => part.id === id);
    if (found === undefined) return;
    current = found;
    show();
    const { handle } = handles.find(({ part }) => part === found);
    handle.focus();
    handle.scrollIntoView({ block: "nearest", inline: "nearest" });
    Promise.resolve(chosen(id)).catch(() => {}); // the next look tries again
  };
  bar.addEventListener("keydown", (event) => {
    const seen = handles.filter(({ handle }) => !handle.hidden);
    const here = seen.findIndex(({ part }) => part === current);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: seen.length - 1 }[
      event.key
    ];
    if (to === undefined) return;
    event.preventDefault();
    open(seen[(to + seen.length) % seen.length].part.id);
  });
  show();
  return {
    nodes: [bar, panels],
    open,
    /** Bring the open part up to date; return whether that was possible. */
    async update(status, signal) {
      for (const { part, handle } of handles) handle.hidden = !(part.applies?.(status) ?? true);
      if (!(current.applies?.(status) ?? true)) [current] = parts;
      show();
      const { part, trouble } = handles.find((one) => one.part === current);
      try {
        await part.update(status, signal);
        say(trouble, "");
        return true;
      } catch (reason) {
        if (signal?.aborted || [401, 403, 404].includes(reason.status)) throw reason;
        say(
          trouble,
          `This part could not be brought up to date: ${reason.message} It is tried again.`,
        );
        return false;
      }
    },
  };
}
