// The certificate: what is proven, what that rests on, and the files to keep.

import { at, download } from "./api.js";
import { button, confidence, count, el, number, save } from "./dom.js";
import { term } from "./terms.js";

function promise({ epsilon, noun }) {
  return epsilon > 0
    ? `the best ${noun} is at most ${number(epsilon)} better than the one it names`
    : `no ${noun} is better than the one it names`;
}

/** What is proven, word for word. */
export function certificatePart(name, { files }) {
  const body = el("div", {});
  const buttons = files
    ? el(
        "p",
        { class: "buttons" },
        saver("Save the certificate", at(name, "/certificate"), `${name}-certificate.json`),
        saver("Save the log", at(name, "/export"), `${name}.jsonl`),
      )
    : el("p", {}, `lingape live export URL ${name} ${name}.jsonl saves the log.`);
  let before = null;
  return {
    id: "certificate",
    title: "Certificate",
    node: el("div", {}, body, buttons),
    async update({ certificate, settled, pulls, settled_pulls }) {
      const claim =
        settled || !certificate.proven
          ? certificate.statement.split("\n")[0]
          : `There is no certificate yet. Once settled, it will say: ${promise(certificate)}, with ` +
            `probability at least ${confidence(certificate.delta)}.`;
      const later =
        settled && settled_pulls !== null && pulls > settled_pulls
          ? `It was settled at reward ${count(settled_pulls)}; the ${count(pulls - settled_pulls)} that came later are not part of it.`
          : null;
      const said = JSON.stringify([claim, later, certificate]);
      if (said === before) return; // so that selections rest
      before = said;
      const verifying = `lingape live verify ${name}.jsonl`;
      body.replaceChildren(
        el("p", { class: "claim" }, claim),
        ...(later === null ? [] : [el("p", {}, later)]),
        ...certificate.remarks.map((text) => el("p", {}, text)),
        el("p", {}, "Provided that:"),
        el(
          "ul",
          { class: "assumptions" },
          certificate.assumptions.map((text) => el("li", {}, text)),
        ),
        el("p", {}, `By the bound ${certificate.bound}.`),
        el(
          "p",
          {},
          "Log up to event ",
          String(certificate.event),
          ", ",
          term("hash", "SHA-256"),
          " ",
          el("code", { class: "digest" }, certificate.digest),
          ".",
        ),
        el("p", {}, "To check that it follows from the log, save the log and run:"),
        el("pre", { tabindex: 0 }, el("code", {}, verifying)),
      );
    },
  };
}

/** Return a button that saves a file. A link could not send the token. */
export function saver(label, path, file) {
  const node = button(label, async () => {
    node.disabled = true;
    try {
      save(await download(path), file);
      node.textContent = label;
    } catch (trouble) {
      node.textContent = `${label} (failed: ${trouble.message})`;
    }
    node.disabled = false;
  });
  return node;
}
