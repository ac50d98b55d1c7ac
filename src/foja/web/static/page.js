/**
 * The page of one conversation: follows the stream, folds it with `View`, shows the result.
 * Everything that was said by somebody is put in as text, never as markup.
 */
import { View } from "./foja.js";

const { conversation, words: spelled } = document.body.dataset;
const words = JSON.parse(spelled);
const main = document.getElementById("view");
const connection = document.getElementById("connection");
const AGAIN = 1000;
const TOGETHER = 16;

let view = new View();
let waiting = [];
let cursor = "";

function say(state) {
  connection.dataset.state = state;
  connection.textContent = words[state];
}

/** Follow from the last cursor on. EventSource comes back by itself, unless it was turned away. */
function connect() {
  const after = cursor ? `?after=${encodeURIComponent(cursor)}` : "";
  const source = new EventSource(`/v1/conversations/${conversation}/stream${after}`);
  source.onopen = () => say("live");
  source.onerror = () => {
    say("offline");
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN);
  };
  for (const name of ["event", "transient"]) {
    source.addEventListener(name, (message) => {
      cursor = message.lastEventId;
      take(JSON.parse(message.data));
    });
  }
  source.addEventListener("reset", () => {
    cursor = "";
    take({ kind: "reset" });
  });
}

/** What comes at the same moment is shown at once. */
function take(item) {
  waiting.push(item);
  if (waiting.length === 1) setTimeout(refresh, TOGETHER);
}

function refresh() {
  view = view.addAll(waiting);
  waiting = [];
  show(view.items());
}

/** Bring the page to these items: what did not change is not touched. */
function show(items) {
  const known = new Map(Array.from(main.children, (each) => [each.dataset.key, each]));
  let place = main.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const form = JSON.stringify(item);
    let element = known.get(key);
    if (!element) element = document.createElement("article");
    if (element.form !== form) draw(element, key, item);
    element.form = form;
    known.delete(key);
    if (element === place) place = place.nextElementSibling;
    else main.insertBefore(element, place);
  }
  for (const gone of known.values()) gone.remove();
}

function keyOf(item) {
  if (item.seq !== null) return `seq ${item.seq}`;
  return `passing ${JSON.stringify([item.kind, item.turn, item.block_index, item.kind === "error" ? item.id : null])}`;
}

function draw(element, key, item) {
  const body = item.payload ?? {};
  element.dataset.key = key;
  element.dataset.kind = item.kind;
  element.className = ROLES[item.kind] ?? "note";
  if (item.state) element.dataset.state = item.state;
  else delete element.dataset.state;
  const said = item.payload === null ? [text("p", words.erased)] : (DRAWN[item.kind] ?? other)(body, item);
  element.replaceChildren(heading(item), ...said);
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

const DRAWN = {
  user_message_sent: (body) => [text("p", plain(body.content))],
  agent_message_sent: (body) => [text("p", plain(body.content))],
  thinking: (body) => [text("p", plain(body.content))],
  message_chunk: (body) => [text("p", body.text)],
  thinking_chunk: (body) => [text("p", body.text)],
  tool_use_requested: (body) => [text("b", body.tool_name), text("pre", JSON.stringify(body.tool_args, null, 1))],
  tool_use_completed: (body) => [
    text("b", body.tool_name),
    text("pre", body.error_message ?? JSON.stringify(body.tool_result, null, 1)),
  ],
  approval_requested: (body) => [
    text("b", body.tool_name),
    text("pre", JSON.stringify(body.tool_args, null, 1)),
    text("small", `${words.until} ${body.expires_at}`),
  ],
  approval_completed: (body) => [text("p", body.reason ?? "")],
  "slot.open": (body) => [text("p", body.intent === null ? "…" : plain(body.intent))],
  "slot.voided": (body) => [text("p", body.reason)],
  turn_paused: (body) => [text("p", body.reason)],
  content_refused: (body) => [text("p", body.reason)],
  error: (body) => [text("p", body.message)],
};

function other(body) {
  return [text("pre", JSON.stringify(body, null, 1))];
}

function heading(item) {
  const line = document.createElement("header");
  line.append(text("span", words[item.kind] ?? item.kind));
  if (item.actor) line.append(text("em", item.actor));
  if (item.state) line.append(text("mark", words[`state_${item.state}`] ?? item.state));
  line.append(text("small", item.seq === null ? "" : `#${item.seq}`));
  return line;
}

function text(name, said) {
  const element = document.createElement(name);
  element.textContent = said;
  return element;
}

/** What was said, if it is text or a list with text in it; else the JSON. */
function plain(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return JSON.stringify(content);
  return content.map((part) => (typeof part?.text === "string" ? part.text : JSON.stringify(part))).join("\n");
}

say("connecting");
connect();
