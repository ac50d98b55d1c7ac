/**
 * Keeps a page current: when something happened, fetches the page again and replaces the parts that changed.
 *
 * `data-part` names a part. `data-follow` on an element is the event stream to listen to; the element shows
 * whether it is connected. `data-every` on a part asks for a look every so many seconds while the page is seen;
 * a page without one asks whether the server is there. While there is no answer, a banner says of when the page is.
 */
const SETTLE_MS = 120;
const AGAIN_MS = 1000;
const LOOK_SECONDS = 10;
const ANSWER_MS = 10_000;
const FILLED_IN = "input, textarea, select";
let timer = 0;
let fetching = false;
let shown = new Date(); // when what the page shows was current

/** Fetch the page soon; what happens meanwhile is fetched with it. */
export function refreshSoon(delay = SETTLE_MS) {
  clearTimeout(timer);
  timer = setTimeout(refresh, delay);
}

async function refresh() {
  if (fetching) return refreshSoon();
  fetching = true;
  try {
    const alive = document.querySelector("[data-part]") === null;
    const signal = AbortSignal.timeout(ANSWER_MS);
    const answer = await fetch(alive ? "/healthz" : location.href, { headers: { Accept: "text/html" }, signal });
    if (!answer.ok || answer.redirected) return later("old");
    const text = await answer.text();
    if (!alive) replaceParts(new DOMParser().parseFromString(text, "text/html"));
    if (!alive) shown = new Date();
    document.getElementById("stale").hidden = true;
  } catch {
    later("gone");
  } finally {
    fetching = false;
  }
}

/** Say why the page is not current, and of when it is; look again soon. */
function later(why) {
  const banner = document.getElementById("stale");
  const text = banner.dataset[why].replace("{time}", shown.toLocaleTimeString(document.documentElement.lang, { hour12: false }));
  if (banner.hidden || banner.textContent !== text) banner.textContent = text;
  banner.hidden = false;
  refreshSoon(AGAIN_MS);
}

/** Replace the parts that differ. What is focused, open or being filled in stays as it is. */
function replaceParts(fresh) {
  for (const part of document.querySelectorAll("[data-part]")) {
    const other = fresh.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!other || (part.contains(document.activeElement) && document.activeElement.matches(FILLED_IN))) continue;
    const open = new Set(Array.from(part.querySelectorAll("details[open][id]"), (each) => each.id));
    for (const each of other.querySelectorAll("details[id]")) each.open ||= open.has(each.id);
    if (other.isEqualNode(part)) continue;
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    part.replaceWith(other);
    if (focused) document.getElementById(focused)?.focus();
    other.dispatchEvent(new CustomEvent("replaced", { bubbles: true }));
  }
}

function follow(element) {
  const show = (state) => {
    element.dataset.state = state;
    element.textContent = element.dataset[state];
  };
  const source = new EventSource(element.dataset.follow);
  let connected = false;
  source.onopen = () => {
    if (connected) refreshSoon();
    connected = true;
    show("live");
  };
  source.onerror = () => {
    show("offline");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => follow(element), AGAIN_MS);
  };
  for (const name of ["event", "reset"]) source.addEventListener(name, () => refreshSoon());
}

/** Look again when the part that is most in a hurry asks for it. */
function lookLater() {
  const waits = Array.from(document.querySelectorAll("[data-every]"), (each) => Number(each.dataset.every));
  setTimeout(() => {
    if (!document.hidden) refreshSoon(0);
    lookLater();
  }, Math.min(...waits, waits.length ? 60 : LOOK_SECONDS) * 1000);
}

for (const each of document.querySelectorAll("[data-follow]")) follow(each);
lookLater();
document.addEventListener("visibilitychange", () => document.hidden || refreshSoon());
