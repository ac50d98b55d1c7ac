/**
 * The page of one conversation: follows the stream, folds it with `View`, renders the items.
 * All content of events is inserted as text, never as markup.
 */
import { View } from "./foja.js";
import { quoted } from "./quotation.js";

const main = document.getElementById("view");
const { conversation, translations, mayDecide, length } = main.dataset;
const texts = JSON.parse(translations);
const names = new Map(Object.entries(JSON.parse(main.dataset.names))); // of actors
const connection = document.getElementById("connection");
const empty = document.getElementById("empty");
const locale = document.documentElement.lang === "es" ? "es" : "en-GB";
const dates = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeZone: "UTC" });
const RECONNECT_MS = 1000;
const REFRESH_MS = 16;

let view = new View();
let waiting = [];
let cursor = "";
let complete = Number(length) === 0; // until then, what the server rendered stays

function showConnection(state) {
  connection.dataset.state = state;
  connection.textContent = texts[state];
}

/** Follow after the last cursor. EventSource reconnects by itself, unless the server refused it. */
function connect() {
  const after = cursor ? `?after=${encodeURIComponent(cursor)}` : "";
  const source = new EventSource(`/v1/conversations/${conversation}/stream${after}`);
  source.onopen = () => showConnection("live");
  source.onerror = () => {
    showConnection("offline");
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, RECONNECT_MS);
  };
  for (const name of ["event", "transient"]) {
    source.addEventListener(name, (message) => {
      cursor = message.lastEventId;
      enqueue(JSON.parse(message.data));
    });
  }
  source.addEventListener("reset", () => {
    cursor = "";
    enqueue({ kind: "reset" });
  });
}

/** Collect items that arrive together and render them once. */
function enqueue(item) {
  waiting.push(item);
  if (waiting.length === 1) setTimeout(refresh, REFRESH_MS);
}

function refresh() {
  view = view.addAll(waiting);
  complete ||= waiting.some((item) => item.kind === "reset" || item.seq >= Number(length) - 1);
  waiting = [];
  if (!complete) return;
  main.dataset.complete = "yes";
  const groups = view.groups();
  empty.hidden = groups.length > 0;
  show(groups.flatMap(([first, ...rest]) => [[first, ""], ...rest.map((item) => [item, " answer"])]));
}

/** Render these items, each with the class of its place. An element that did not change is not touched. */
function show(items) {
  const known = new Map(Array.from(main.children, (each) => [each.dataset.key, each]));
  let next = main.firstElementChild;
  for (const [item, place] of items) {
    const key = keyOf(item);
    const form = JSON.stringify([item, place]);
    let element = known.get(key);
    if (!element) element = document.createElement("article");
    if (element.form !== form) render(element, key, item, place);
    element.form = form;
    known.delete(key);
    if (element === next) next = next.nextElementSibling;
    else main.insertBefore(element, next);
  }
  for (const gone of known.values()) gone.remove();
}

function keyOf(item) {
  if (item.seq !== null) return `seq ${item.seq}`;
  return `transient ${JSON.stringify([item.kind, item.turn, item.block_index, item.kind === "error" ? item.id : null])}`;
}

function render(element, key, item, place) {
  const body = item.payload ?? {};
  element.className = (ROLES[item.kind] ?? "note") + place; // in the order of the server's template
  element.dataset.key = key;
  element.dataset.kind = item.kind;
  if (item.state) element.dataset.state = item.state;
  else delete element.dataset.state;
  const content = item.payload === null ? [text("p", texts.erased)] : (RENDERERS[item.kind] ?? renderJson)(body, item);
  element.replaceChildren(heading(item), ...content);
}

const ROLES = {
  user_message_sent: "user",
  agent_message_sent: "agent",
  message_chunk: "agent",
  thinking: "thinking",
  thinking_chunk: "thinking",
  tool_use_requested: "tool",
  tool_use_completed: "tool",
  approval_requested: "approval",
  approval_completed: "approval",
  "slot.open": "open",
  error: "failure",
};

const RENDERERS = {
  user_message_sent: (body) => [words(plain(body.content))],
  agent_message_sent: (body) => [words(plain(body.content))],
  thinking: (body) => [words(plain(body.content))],
  message_chunk: (body) => [words(body.text)],
  thinking_chunk: (body) => [words(body.text)],
  tool_use_requested: (body) => [text("b", quoted(body.tool_name)), text("pre", JSON.stringify(body.tool_args, null, 1))],
  tool_use_completed: (body) => [
    text("b", quoted(body.tool_name)),
    text("pre", body.error_message ?? JSON.stringify(body.tool_result, null, 1)),
  ],
  approval_requested: (body, item) => [
    text("b", quoted(body.tool_name)),
    text("pre", JSON.stringify(body.tool_args, null, 1)),
    text("small", `${texts.until} ${timeOf(body.expires_at)}`),
    ...(item.state === "requested" && mayDecide === "yes" ? [buttons(body.approval_id)] : []),
  ],
  approval_completed: (body) => body.reason ? [words(body.reason)] : [],
  "slot.open": (body) => [words(body.intent === null ? "…" : plain(body.intent))],
  "slot.voided": (body) => [words(body.reason)],
  turn_paused: (body) => [words(body.reason)],
  content_refused: (body) => [words(body.reason)],
  error: (body) => [words(body.message)],
};

function renderJson(body) {
  return [text("pre", JSON.stringify(body, null, 1))];
}

/** The buttons that decide an approval. The decision itself is shown when its event arrives. */
function buttons(approval) {
  const line = document.createElement("div");
  const failure = document.createElement("output");
  const reason = document.createElement("input");
  reason.name = "reason";
  reason.maxLength = 1000;
  reason.placeholder = texts.reason;
  reason.setAttribute("aria-label", texts.reason);
  const choices = [["approved", "approve"], ["denied", "deny"]].map(([decision, name]) => {
    const button = text("button", texts[name]);
    button.value = decision;
    button.className = decision === "approved" ? "slim primary" : "slim danger";
    button.onclick = async () => {
      choices.forEach((each) => (each.disabled = true));
      const decided = await decide(approval, decision, reason.value.trim() || null).catch(() => false);
      if (decided) return;
      failure.textContent = texts.undecided;
      choices.forEach((each) => (each.disabled = false));
    };
    return button;
  });
  line.className = "decide";
  line.append(reason, ...choices, failure);
  return line;
}

/** Record a decision; return whether it, or an earlier one, is recorded. */
async function decide(approval, decision, reason) {
  const answer = await fetch(`/v1/conversations/${conversation}/approvals/${encodeURIComponent(approval)}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ decision, reason }),
  });
  return answer.ok;
}

/** A time in UTC, as on every page; what is not a time is a quotation. */
function timeOf(at) {
  const moment = new Date(at);
  return Number.isNaN(moment.getTime()) ? quoted(at) : `${dates.format(moment)}, ${moment.toISOString().slice(11, 16)} UTC`;
}

function heading(item) {
  const line = document.createElement("header");
  line.append(text("span", texts[item.kind] ?? quoted(item.kind)));
  if (item.actor) line.append(who(item.actor));
  if (item.state) line.append(text("mark", texts[`state_${item.state}`] ?? quoted(item.state)));
  const when = text("time", item.at ? timeOf(item.at) : "");
  if (item.at) when.dateTime = item.at;
  line.append(when, text("small", item.seq === null ? "" : `#${item.seq}`));
  return line;
}

/** An actor: its name where it has one, and the actor itself. The name of a new one is asked for once. */
function who(actor) {
  const element = document.createElement("em");
  element.className = "who";
  element.dataset.actor = actor;
  if (!names.has(actor) && /^(key|user):/.test(actor)) {
    names.set(actor, "");
    void nameOf(actor);
  }
  return showName(element);
}

function showName(element) {
  const { actor } = element.dataset;
  const name = names.get(actor);
  element.replaceChildren(...(name ? [text("bdi", quoted(name)), " ", text("small", quoted(actor))] : [text("bdi", quoted(actor))]));
  return element;
}

async function nameOf(actor) {
  const answer = await fetch(`/v1/access/names?actor=${encodeURIComponent(actor)}`).catch(() => null);
  if (!answer?.ok) return;
  names.set(actor, (await answer.json()).names[actor] ?? "");
  for (const each of main.querySelectorAll("[data-actor]")) if (each.dataset.actor === actor) showName(each);
}

/** Words of others as a block of their own. */
function words(content) {
  return text("blockquote", content);
}

function text(name, content) {
  const element = document.createElement(name);
  element.textContent = content;
  return element;
}

/** The text of some content: a string, the texts of a list, else its JSON. */
function plain(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content.map((part) => (typeof part?.text === "string" ? part.text : JSON.stringify(part))).join("\n");
}

main.replaceChildren(...main.children); // without the blanks of the template
showConnection("connecting");
connect();
