// Talking to the server: JSON, and the stream of changes.

const TOKEN = "lingape token";
// A stream is dead after so many ms without a heartbeat; they come every 15 s.
const SILENCE = 40_000;

/** What the server answered instead of what was asked for. */
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

export function keepToken(token) {
  if (token) sessionStorage.setItem(TOKEN, token);
  else sessionStorage.removeItem(TOKEN);
}

export function hasToken() {
  return sessionStorage.getItem(TOKEN) !== null;
}

async function request(path, { signal, accept = "application/json", body } = {}) {
  const headers = { Accept: accept };
  const token = sessionStorage.getItem(TOKEN);
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  // Relative, so that the page also works behind a proxy that serves it under a prefix.
  const how = { headers, signal, cache: "no-store" };
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    Object.assign(how, { method: "POST", body: JSON.stringify(body) });
  }
  const response = await fetch(`api/${path}`, how);
  if (response.ok) return response;
  let sentence = `The server answered ${response.status}.`;
  try {
    const answer = await response.json();
    if (typeof answer.error === "string") sentence = answer.error;
  } catch {
    // Not JSON: a proxy's page. The status says enough.
  }
  throw new Refused(response.status, sentence);
}

/** Return the JSON at a path below api/. */
export async function get(path, signal) {
  return (await request(path, { signal })).json();
}

/** Record something; the token has to permit it. */
export async function post(path, body) {
  return (await request(path, { body })).json();
}

/** Return the bytes at a path below api/, to be saved. */
export async function download(path) {
  return (await request(path, { accept: "*/*" })).blob();
}

export function at(name, rest = "") {
  return `experiments/${encodeURIComponent(name)}${rest}`;
}

/**
 * Read server-sent events until the stream ends or breaks.
 *
 * EventSource cannot send a token, so the stream is read by fetch.
 */
export async function stream(path, signal, { opened, event }) {
  const silence = new AbortController();
  const dead = () => silence.abort(new Error("The stream went silent."));
  let alarm = setTimeout(dead, SILENCE);
  try {
    const response = await request(path, {
      signal: AbortSignal.any([signal, silence.signal]),
      accept: "text/event-stream",
    });
    if (!(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
      await response.body?.cancel();
      throw new Error("The answer is not a stream.");
    }
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(alarm);
      alarm = setTimeout(dead, SILENCE);
      const blocks = (text + value.replaceAll("\r", "")).split("\n\n");
      text = blocks.pop(); // not whole yet
      for (const block of blocks) heard(block, event);
    }
  } finally {
    clearTimeout(alarm);
  }
}

function heard(block, event) {
  let kind = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) kind = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).trim());
  }
  if (data.length) event(kind, JSON.parse(data.join("\n")));
}
