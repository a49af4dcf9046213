// The dashboard: which page is shown, and how it is kept up to date.

import { Refused, get, hasToken, keepToken } from "./api.js";
import { el, say } from "./dom.js";
import { showExperiment } from "./experiment.js";
import { showList } from "./list.js";
import { PAUSE, again, pause, seen } from "./live.js";

const main = document.querySelector("#main");
const STATES = {
  connecting: "Connecting",
  live: "Live",
  polling: "Updated every few seconds",
  lost: "Connection lost, trying again",
  stopped: "Not connected",
};
let leave = new AbortController(); // aborted when another page is shown

let latest = null; // when the server last answered

/** Say whether the server is there: in the bar that stays on top, wherever one has scrolled. */
function connection(state) {
  const pill = document.querySelector("#connection");
  const of =
    state === "lost" && latest !== null && !main.querySelector(".trouble")
      ? `. What you see is of ${latest.toLocaleTimeString("en-GB")}`
      : "";
  pill.dataset.state = state;
  document.body.dataset.connection = state;
  say(pill, STATES[state] + of);
}

function announce(sentence) {
  say(document.querySelector("#announcer"), sentence);
}

function show(title, ...nodes) {
  document.title = title === null ? "lingape" : `${title} · lingape`;
  main.replaceChildren(...nodes);
}

/** Put the open tab into the address, so that it can be passed around. */
function remember(name, tab) {
  history.replaceState(null, "", `#/${encodeURIComponent(name)}/${tab}`);
}

/** Ask for a token, after the server refused. */
function showDoor(refusal) {
  connection("stopped");
  const input = el("input", {
    id: "token",
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    pattern: "[!-~]+", // a header takes no others
    title: "ASCII letters, digits and punctuation, without spaces",
    "aria-describedby": "token-help",
  });
  const form = el(
    "form",
    { class: "panel door" },
    el("h1", {}, "Enter a token"),
    hasToken() ? el("p", { class: "error" }, refusal.message) : null,
    el("label", { for: "token" }, "Token for reading"),
    input,
    el(
      "p",
      { id: "token-help", class: "note" },
      "The person who started the server has it. It is kept until this tab is closed.",
    ),
    el("button", { type: "submit" }, "Open"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    keepToken(input.value);
    route();
  });
  show("Token", form);
  input.focus();
}

/** Return whether it is the address that is wrong, so that there is no use in trying again. */
function refused(trouble) {
  return trouble instanceof Refused && trouble.status < 500 && trouble.status !== 429;
}

function showTrouble(trouble) {
  connection(refused(trouble) ? "stopped" : "lost");
  const sentence = trouble instanceof Refused ? trouble.message : "The server cannot be reached.";
  if (main.querySelector(".trouble")?.textContent === sentence) return; // do not interrupt a screen reader
  const again = el("button", { type: "button" }, "Try again");
  again.addEventListener("click", () => route());
  show(
    "Trouble",
    el(
      "section",
      { class: "panel" },
      el("h1", {}, trouble.status === 404 ? "Not found" : "That did not work"),
      el("p", { class: "error trouble" }, sentence),
      el("p", {}, el("a", { href: "#/" }, "All experiments"), " ", again),
    ),
  );
}

/**
 * Show the page that the address names: #/ is the list, #/NAME/TAB an experiment.
 *
 * quietly: without a word about it, as it is tried again and again.
 */
async function route({ quietly = false } = {}) {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  let name = "";
  let tab = "";
  try {
    [name, tab = ""] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    location.hash = "#/"; // not an address that this page made
    return;
  }
  if (!quietly) connection("connecting");
  announce("");
  const page = {
    signal,
    show,
    connection,
    announce,
    remember,
    again: (refresh) => again(signal, refresh),
    get: async (path) => {
      const answer = await get(path, signal);
      latest = new Date();
      return answer;
    },
  };
  try {
    await (name === "" ? showList(page) : showExperiment(page, name, tab));
  } catch (trouble) {
    if (signal.aborted) return;
    if (trouble instanceof Refused && [401, 403].includes(trouble.status)) showDoor(trouble);
    else showTrouble(trouble);
    if (!(trouble instanceof Refused)) console.warn(trouble);
    if (refused(trouble)) return;
    await pause(PAUSE, signal);
    await seen(signal);
    if (!signal.aborted) await route({ quietly: true });
  }
}

document.querySelector("#skip").addEventListener("click", () => main.focus());
window.addEventListener("hashchange", async () => {
  main.focus({ preventScroll: true }); // so that reading begins at the new page
  window.scrollTo(0, 0);
  await route();
});
route();
