// Keeping a page up to date: by the stream where there is one, by asking again where not.

import { Refused, stream } from "./api.js";

export const PAUSE = 3_000; // ms between looks, and before the stream is tried again
const LEAST = 400; // ms between refreshes, however fast rewards come

export function pause(time, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, time);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}

/** Wait until the tab is looked at: browsers allow few connections to one server. */
export async function seen(signal) {
  while (document.hidden && !signal.aborted) await pause(500, signal);
}

/** Return whether a failure will not go away by trying again. */
function final(trouble) {
  return trouble instanceof Refused && [401, 403, 404].includes(trouble.status);
}

/** Call `refresh`, and say whether the server is there. */
async function look({ signal, connection }, refresh) {
  try {
    await refresh();
    connection("polling");
  } catch (trouble) {
    if (signal.aborted) return;
    if (final(trouble)) throw trouble;
    connection("lost");
  }
}

/** Call `refresh` every few seconds until the page is left. */
export async function poll({ signal, connection }, refresh) {
  for (;;) {
    await pause(PAUSE, signal);
    await seen(signal);
    if (signal.aborted) return;
    await look({ signal, connection }, refresh);
  }
}

/** Call `refresh` whenever the stream at `path` says so, until the page is left. */
export async function follow({ signal, connection }, path, refresh) {
  for (;;) {
    await seen(signal);
    if (signal.aborted) return;
    const hidden = new AbortController();
    const leave = () => document.hidden && hidden.abort();
    document.addEventListener("visibilitychange", leave);
    const turn = turns(refresh, signal, connection);
    try {
      await stream(path, AbortSignal.any([signal, hidden.signal]), {
        opened: () => {
          connection("live");
          turn(); // what happened before the stream was open
        },
        event: (kind) => kind === "status" && turn(),
      });
    } catch {
      // Whether the server is there at all is seen next, by asking without a stream.
    } finally {
      document.removeEventListener("visibilitychange", leave);
    }
    if (signal.aborted) return;
    if (hidden.signal.aborted) continue;
    await look({ signal, connection }, refresh);
    await pause(PAUSE, signal);
  }
}

/** Return a function that has `refresh` run soon: one at a time, and not too often. */
function turns(refresh, signal, connection) {
  let running = false;
  let wanted = false;
  return async () => {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted && !signal.aborted) {
      wanted = false;
      try {
        await refresh();
        if (!signal.aborted) connection("live");
        await pause(LEAST, signal);
      } catch {
        if (!signal.aborted) connection("lost");
        wanted = true;
        await pause(PAUSE, signal);
      }
    }
    running = false;
  };
}

/** Call `refresh` once more, a little later. */
export async function again(signal, refresh) {
  await pause(PAUSE, signal);
  if (!signal.aborted) await refresh().catch(() => {}); // the next change tries again
}
