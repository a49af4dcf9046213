// The certificate: what is proven, what that rests on, and the files to keep.

import { at, download } from "./api.js";
import { confidence, el, number, say } from "./dom.js";
import { section } from "./panels.js";

function promise({ epsilon, noun }) {
  return epsilon > 0
    ? `the best ${noun} is at most ${number(epsilon)} better than the one it names`
    : `no ${noun} is better than the one it names`;
}

/** What is proven and what that rests on. */
export function certificatePart(name) {
  const body = el("div", {});
  const node = section("certificate", "Certificate", body);
  const title = node.querySelector("h2");
  let before = null;
  return {
    node,
    update({ certificate, settled, check }) {
      const good = certificate.settled && certificate.proven;
      node.classList.toggle("good", settled && good && !check.warnings.length);
      node.classList.toggle("bad", !certificate.proven || (settled && !good));
      const claim = settled || !certificate.proven
        ? certificate.statement.split("\n")[0]
        : `Once settled, it will say: ${promise(certificate)}, with probability at least ` +
          `${confidence(certificate.delta)}.`;
      const said = [claim, ...certificate.remarks].join("\n");
      if (said === before) return; // so that buttons keep the focus
      before = said;
      say(title, settled ? "Certificate" : "No certificate yet");
      body.replaceChildren(
        el("p", { class: "claim" }, claim),
        ...certificate.remarks.map((text) => el("p", {}, text)),
        el("p", {}, "Provided that:"),
        el("ul", {}, ...certificate.assumptions.map((text) => el("li", {}, text))),
        el(
          "p",
          { class: "note" },
          `By the bound ${certificate.bound}.`,
          settled ? ` Log up to event ${certificate.event}, SHA-256 ` : null,
          settled ? el("code", { class: "digest" }, certificate.digest) : null,
          settled ? ". Keep it: a log that is rewritten has another." : null,
        ),
        el(
          "p",
          { class: "buttons" },
          saver("Save the certificate", at(name, "/certificate"), `${name}-certificate.json`),
          saver("Save the log", at(name, "/export"), `${name}.jsonl`),
        ),
      );
    },
  };
}

/** Return a button that saves a file. A link could not send the token. */
function saver(label, path, file) {
  const button = el("button", { type: "button" }, label);
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const link = el("a", { href: URL.createObjectURL(await download(path)), download: file });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      button.textContent = label;
    } catch (trouble) {
      button.textContent = `${label} (failed: ${trouble.message})`;
    }
    button.disabled = false;
  });
  return button;
}
