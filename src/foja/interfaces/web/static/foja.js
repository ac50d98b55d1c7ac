/**
 * Foja for JavaScript, in one file without dependencies, for browsers and Node.
 *
 * `connect` returns a client of the HTTP API. `order` and `View` are the reading order and the view of a
 * conversation: equal to `foja.conversations` in Python, both pass the same test vectors; they use no clock
 * and no network. The types are in `foja.d.ts`.
 *
 * @typedef {Object<string, any>} Item  A persisted event (`seq` is a number, 0 included) or
 *   a transient event (`seq` is null), as the HTTP server sends it.
 */

/**
 * Return these items in reading order. The order of the input does not matter.
 *
 * Persisted events come first, by number. Transient events follow, by turn: the turn with
 * the earliest event first, then by the turn's name. Within a turn, events with an index come
 * first, by `block_index ?? event_index`, then by `event_index`; the others follow. Ties are
 * broken by time, then by id, then by content. A missing or invalid value counts as absent,
 * and sorts after a valid one.
 *
 * @param {Iterable<Item>} items
 * @returns {Item[]} a new list
 */
export function order(items) {
  const places = Array.from(items, placeOf);
  const first = firstTimes(places);
  return places.sort((a, b) => comparePlaces(a, b, first)).map((place) => place.item);
}

/** The sort keys of one item; its time and its text are computed only for ties. */
function placeOf(item) {
  const block = indexOf(item.block_index);
  const event = indexOf(item.event_index);
  return { item, seq: numberOf(item.seq), turn: turnName(item.turn), index: block ?? event, event };
}

/** The time of the earliest transient event of each turn. */
function firstTimes(places) {
  const first = new Map();
  for (const { item, seq, turn } of places) {
    if (seq !== null) continue;
    const at = instant(item.at);
    if (!first.has(turn) || compareInstants(at, first.get(turn)) < 0) first.set(turn, at);
  }
  return first;
}

function comparePlaces(a, b, first) {
  const ranked =
    a.seq !== null || b.seq !== null
      ? absentLast(a.seq, b.seq, (x, y) => x - y)
      : compareTurns(a.turn, b.turn, first) ||
        absentLast(a.index, b.index, (x, y) => x - y) ||
        absentLast(a.event, b.event, (x, y) => x - y);
  return (
    ranked ||
    compareInstants(instant(a.item.at), instant(b.item.at)) ||
    compareText(turnName(a.item.id) ?? "", turnName(b.item.id) ?? "") ||
    compareText(canonicalText(a.item), canonicalText(b.item))
  );
}

/** Events without a turn go before a turn that began at the same time. */
function compareTurns(a, b, first) {
  if (a === b) return 0;
  return compareInstants(first.get(a), first.get(b)) || (a === null ? -1 : b === null ? 1 : compareText(a, b));
}

function absentLast(a, b, compare) {
  if (a === null || b === null) return (a === null) - (b === null);
  return compare(a, b);
}

/** Compare by code points, as Python does; `<` would compare halves of surrogate pairs. */
function compareText(a, b) {
  if (a === b) return 0;
  const [left, right] = [Array.from(a), Array.from(b)];
  const at = left.findIndex((each, i) => each !== right[i]);
  if (at < 0) return -1;
  return at >= right.length ? 1 : left[at].codePointAt(0) - right[at].codePointAt(0);
}

function compareInstants(a, b) {
  return absentLast(a, b, (x, y) => x.seconds - y.seconds || compareText(x.fraction, y.fraction));
}

const NEVER = { seconds: -Infinity, fraction: "" }; // before every instant
const TIME =
  /^(?!0000)(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(0\d|1[0-4]):?([0-5]\d))?$/;

/** A time, exact to the last digit (a `Date` has milliseconds only); UTC if it has no offset. */
function instant(at) {
  const match = typeof at === "string" ? TIME.exec(at) : null;
  if (!match) return null;
  const [, day, clock, fraction = "", sign, hours, minutes] = match;
  const date = new Date(`${day}T${clock}Z`);
  if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(`${day}T${clock}`)) return null;
  const ahead = sign ? (Number(hours) * 3600 + Number(minutes) * 60) * (sign === "-" ? -1 : 1) : 0;
  return { seconds: date.getTime() / 1000 - ahead, fraction: fraction.replace(/0+$/, "") };
}

function indexOf(value) {
  return typeof value === "number" && value >= 0 && value < Infinity ? value : null;
}

function numberOf(value) {
  return Number.isInteger(value) && value >= 0 ? value : null;
}

/** A turn's name; a number becomes its text. */
function turnName(turn) {
  return typeof turn === "string" ? turn : Number.isFinite(turn) ? String(turn) : null;
}

/** The canonical text of a JSON value: keys sorted, no spaces (RFC 8785). */
function canonicalText(value) {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonicalText(value[key])}`);
  return `{${members.join(",")}}`;
}

const CHUNKS = new Set(["message_chunk", "thinking_chunk"]);
const ENDS = new Set(["complete", "session_end"]);
const OPEN = "slot.open";

/**
 * What a page shows of a conversation. A view is immutable: adding items returns a new one.
 *
 * Items may be added in any order and repeatedly. A persisted event replaces the open slot
 * of its number. A transient event is removed by the persisted event of its block, by the end
 * of its turn (`complete`) or of its session (`session_end`). So a live view and a reloaded
 * one are equal as soon as no transient event is left.
 */
export class View {
  /** @param {Iterable<Item>} items */
  constructor(items = []) {
    this._reset();
    for (const item of items) this._apply(item);
  }

  /**
   * Return the view after these items: events, transient events, resets.
   * @param {...Item} items
   */
  add(...items) {
    return this.addAll(items);
  }

  /** The same for a list of any length. @param {Iterable<Item>} items */
  addAll(items) {
    const next = new View();
    next._events = new Map(this._events);
    next._transients = new Map(this._transients);
    next._blocks = new Set(this._blocks);
    next._ended = new Set(this._ended);
    next._completedAt = this._completedAt;
    next._closedAt = this._closedAt;
    next._shown = this._shown;
    for (const item of items) next._apply(item);
    return next;
  }

  /** True if no transient event is left. Then a reload shows the same. */
  get settled() {
    return this._transients.size === 0;
  }

  /**
   * Return the items to show, in reading order: each one without its cursor, with `state`
   * and with `pair`, the number of its request or result; null where there is none. A block
   * in progress is one item with its chunks joined; `partial` means that a chunk is missing.
   *
   * States: a tool request is pending, completed, failed, denied or voided, its result the
   * same or unpaired; an approval is requested, approved, denied or expired; a slot is open
   * or voided; a body may be erased; a transient item is streaming or an error.
   *
   * @returns {Item[]}
   */
  items() {
    if (this._shown === null) this._shown = showEvents(this._events);
    return [...this._shown, ...fold(this._transients.values())];
  }

  /**
   * Return the same items in groups: a request first, then its result or decision, or the open
   * slot that is reserved for it. An item without a counterpart is a group by itself.
   *
   * @returns {Item[][]}
   */
  groups() {
    return group(this.items());
  }

  // Names that begin with an underscore are private.

  _apply(item) {
    const seq = numberOf(item.seq);
    if (item.kind === "reset") this._reset();
    else if (seq !== null) this._record(seq, item);
    else if (ENDS.has(item.kind)) this._end(item);
    else if ((CHUNKS.has(item.kind) || item.kind === "error") && !this._hasEnded(item)) {
      this._transients.set(turnName(item.id) ?? canonicalText(item), item);
    }
  }

  _reset() {
    this._events = new Map();
    this._transients = new Map();
    this._blocks = new Set();
    this._ended = new Set();
    this._completedAt = NEVER;
    this._closedAt = NEVER;
    this._shown = null; // the persisted part of `items`, cached until an event changes it
  }

  _record(seq, item) {
    const known = this._events.get(seq);
    // A filled slot never reopens, and an erased body never returns.
    const erased = (item.payload ?? null) === null && item.kind !== OPEN;
    if (!known || known.kind === OPEN || erased) {
      this._events.set(seq, item);
      this._shown = null;
    }
    const block = blockOf(bodyOf(item).turn, bodyOf(item).block_index);
    if (block !== null && !this._blocks.has(block)) {
      this._blocks.add(block);
      this._dropEnded();
    }
  }

  _end(item) {
    const turn = turnName(item.turn);
    if (turn !== null) this._ended.add(turn);
    else if (item.kind === "complete") this._completedAt = laterOf(this._completedAt, instant(item.at));
    if (item.kind === "session_end") this._closedAt = laterOf(this._closedAt, instant(item.at));
    this._dropEnded();
  }

  _dropEnded() {
    for (const [name, item] of this._transients) if (this._hasEnded(item)) this._transients.delete(name);
  }

  /** True if the item's block is persisted, or its turn or session has ended. */
  _hasEnded(item) {
    const [turn, at] = [turnName(item.turn), instant(item.at)];
    const ended = turn !== null ? this._ended.has(turn) : compareInstants(at, this._completedAt) <= 0;
    const block = blockOf(turn, item.block_index);
    return ended || compareInstants(at, this._closedAt) <= 0 || (block !== null && this._blocks.has(block));
  }
}

/**
 * Return the view after one more item.
 * @param {View} view
 * @param {Item} item
 */
export function reduce(view, item) {
  return view.add(item);
}

function laterOf(a, b) {
  return compareInstants(a, b) < 0 ? b : a;
}

/** The key of the block with this turn and index, or null if one of them is absent. */
function blockOf(turn, blockIndex) {
  const [name, index] = [turnName(turn), indexOf(blockIndex)];
  return name === null || index === null ? null : JSON.stringify([name, index]);
}

/** The payload of an item; empty if it was erased. */
function bodyOf(item) {
  return item.payload !== null && typeof item.payload === "object" && !Array.isArray(item.payload) ? item.payload : {};
}

function show(item, state = null, pair = null) {
  const { cursor, ...shown } = item;
  // The deadline of an open slot may change without an event.
  if (item.kind === OPEN) shown.payload = { intent: bodyOf(item).intent ?? null };
  return { ...shown, state, pair };
}

function showEvents(known) {
  const events = applyErasures(known);
  const { states, pairs } = pairUp(events);
  return Array.from(events, ([seq, item]) => show(item, states.get(seq) ?? null, pairs.get(seq) ?? null));
}

/** The events by number, lowest first, after every `body.erased` is applied. */
function applyErasures(known) {
  const erased = new Set();
  for (const item of known.values()) if (item.kind === "body.erased") erased.add(numberOf(bodyOf(item).seq));
  const sorted = [...known].sort(([a], [b]) => a - b);
  return new Map(sorted.map(([seq, item]) => [seq, erased.has(seq) ? { ...item, payload: null, actor: null } : item]));
}

/** The states of requests and results, and the number of each one's counterpart. */
function pairUp(events) {
  const [states, pairs] = [new Map(), new Map()];
  const refused = pairApprovals(events, states, pairs);
  pairTools(events, states, pairs, refused);
  for (const [seq, item] of events) {
    const state = ownState(seq, item, states, pairs);
    if (state !== undefined) states.set(seq, state);
  }
  return { states, pairs };
}

/** Pair approvals; return the tool uses whose approval was denied or expired. */
function pairApprovals(events, states, pairs) {
  const refused = new Set();
  const answers = numbersBy(events, "approval_completed", "approval_id");
  const erased = erasedDecisions(events);
  for (const [approval, seqs] of numbersBy(events, "approval_requested", "approval_id")) {
    const named = seqs.map((seq) => erased.get(bodyOf(events.get(seq)).decision_id)).filter((seq) => seq !== undefined);
    const answer = answers.get(approval)?.[0] ?? (named.length ? Math.min(...named) : undefined);
    const decision = answer === undefined ? "requested" : (bodyOf(events.get(answer)).decision ?? "erased");
    for (const seq of seqs) {
      states.set(seq, decision);
      if (answer !== undefined) {
        pairs.set(seq, answer);
        if (!pairs.has(answer)) pairs.set(answer, seq);
      }
      if (decision === "denied" || decision === "expired") refused.add(bodyOf(events.get(seq)).tool_use_id);
    }
  }
  return refused;
}

/** Decisions whose body was erased, by their ids: the request names the id of its decision. */
function erasedDecisions(events) {
  const found = [...events].filter(([, item]) => item.kind === "approval_completed" && (item.payload ?? null) === null);
  return new Map(found.reverse().map(([seq, item]) => [item.id, seq]));
}

function pairTools(events, states, pairs, refused) {
  const results = numbersBy(events, "tool_use_completed", "tool_use_id");
  for (const [tool, seqs] of numbersBy(events, "tool_use_requested", "tool_use_id")) {
    seqs.forEach((seq, place) => {
      const answer = results.get(tool)?.[place];
      const resultSeq = numberOf(bodyOf(events.get(seq)).result_seq);
      const state = toolState(events, answer, refused.has(tool), resultSeq);
      const pair = state === "voided" ? resultSeq : answer;
      states.set(seq, state);
      if (pair !== undefined) pairs.set(seq, pair).set(pair, seq);
    });
  }
}

function toolState(events, answer, refused, resultSeq) {
  const result = answer === undefined ? {} : bodyOf(events.get(answer));
  if (result.success === true) return "completed";
  if (refused || result.denied === true) return "denied";
  if (answer !== undefined) return "failed";
  return resultSeq !== null && events.get(resultSeq)?.kind === "slot.voided" ? "voided" : "pending";
}

/** The state that follows from the event itself, or from its pair. */
function ownState(seq, item, states, pairs) {
  if (item.kind === OPEN) return "open";
  if ((item.payload ?? null) === null) return "erased";
  if (item.kind === "slot.voided") return "voided";
  if (item.kind === "approval_completed") return bodyOf(item).decision;
  if (item.kind === "tool_use_completed") return pairs.has(seq) ? states.get(pairs.get(seq)) : "unpaired";
  return undefined;
}

const RESPONSES = new Set(["tool_use_completed", "approval_completed"]);

function group(items) {
  const bySeq = new Map(items.filter((item) => item.seq !== null).map((item) => [item.seq, item]));
  const under = new Map();
  for (const [seq, item] of bySeq) if (answers(item, bySeq.get(item.pair))) under.set(seq, item.pair);
  for (const [seq, item] of bySeq) {
    const reserved = item.kind === "tool_use_requested" ? numberOf(bodyOf(item).result_seq) : null;
    if (bySeq.get(reserved)?.kind === OPEN && !under.has(reserved)) under.set(reserved, seq);
  }
  const groups = new Map(items.filter((item) => !under.has(item.seq)).map((item) => [item, [item]]));
  const responses = [...under].sort(([a], [b]) => a - b);
  for (const [seq, request] of responses) groups.get(bySeq.get(request)).push(bySeq.get(seq));
  return [...groups.values()];
}

/** True if an event is the result or decision of this request. */
function answers(item, request) {
  if (!request || request.pair !== item.seq) return false;
  const voided = item.kind === "slot.voided" && request.kind === "tool_use_requested";
  return RESPONSES.has(item.kind) || voided;
}

/** The numbers of the events of a kind, by the value of one field, lowest first. */
function numbersBy(events, kind, field) {
  const found = new Map();
  for (const [seq, item] of events) {
    const value = bodyOf(item)[field];
    if (item.kind !== kind || typeof value !== "string") continue;
    if (found.has(value)) found.get(value).push(seq);
    else found.set(value, [seq]);
  }
  return found;
}

/** The blocks in progress, each with its chunks joined, and the errors, in reading order. */
function fold(transients) {
  const blocks = new Map();
  order(transients).forEach((item, place) => {
    const block = JSON.stringify([item.kind, turnName(item.turn), indexOf(item.block_index)]);
    const key = CHUNKS.has(item.kind) ? block : place;
    if (blocks.has(key)) blocks.get(key).push(item);
    else blocks.set(key, [item]);
  });
  return Array.from(blocks.values(), (items) =>
    CHUNKS.has(items[0].kind) ? joinChunks(items) : show(items[0], "error"),
  );
}

/**
 * One block in progress. It is partial if a chunk is missing, the first one included. Without
 * a block index, chunks are numbered along the turn, so a gap does not prove a missing chunk.
 */
function joinChunks(chunks) {
  const pieces = new Map();
  chunks.forEach((chunk, place) => {
    const index = indexOf(chunk.event_index) ?? `at ${place}`;
    const text = bodyOf(chunk).text;
    if (!pieces.has(index)) pieces.set(index, typeof text === "string" ? text : "");
  });
  const indexes = [...pieces.keys()].filter((key) => typeof key === "number");
  const payload = { text: [...pieces.values()].join("") };
  const partial = indexOf(chunks[0].block_index) !== null && indexes.some((index, place) => index !== place);
  return { ...show(chunks[0], "streaming"), payload, partial };
}

// The client of the HTTP API.

const PAGE_EVENTS = 1000;
const RETRY_MS = 10_000;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [100, 5_000];
const SILENCE_MS = 60_000; // a stream sends a heartbeat four times as often
const RETRYABLE = new Set([429, 502, 503, 504]);
const NOT_COVERED = "not_covered"; // 409: a checkpoint will cover the event
const JSON_TYPE = "application/json";
const BYTES = "application/octet-stream";

/**
 * A refusal or a failure: `code` never changes, `message` says what was refused, why, and what to do next.
 * `retryable` says whether the same request may succeed later; `status` is 0 if there was no answer.
 */
export class FojaError extends Error {
  constructor(message, { status = 0, code = null, error = null, retryAfter = null, cause } = {}) {
    super(message, { cause });
    this.name = error ?? "FojaError";
    this.status = status;
    this.code = code ?? (status === 0 ? "unavailable" : null);
    this.retryable = status === 0 || RETRYABLE.has(status) || code === NOT_COVERED;
    this.retryAfter = retryAfter;
  }
}

/**
 * Return a client of a server. In a page of the server itself, the address may be left out.
 *
 * @param {string} [url] the address of the server, without `/v1`
 * @param {{key?: string, retryMs?: number, fetch?: typeof fetch}} [options] `key` is an API key;
 *   what is retryable is tried again for `retryMs`
 */
export function connect(url = globalThis.location?.origin, options = {}) {
  return new Client(new Transport(url, options));
}

/** A server of Foja. */
export class Client {
  constructor(transport) {
    this._transport = transport;
    this.documents = new Documents(transport);
    this.conversations = new Conversations(transport, this.documents);
    this.images = new Images(transport, this.documents);
    this.jobs = new JobsActs(transport);
    this.anchors = new AnchorsActs(transport);
    this.alerts = new AlertsActs(transport);
    this.maintenance = new MaintenanceActs(transport);
    this.webhooks = new WebhooksActs(transport);
    this.access = new AccessActs(transport);
    this.log = new LogActs(transport);
  }

  /** Return a stream of a domain of yours: a new one, or the one with this id. */
  stream(domain, id = newId()) {
    return new Stream(this._transport, id, `/v1/streams/${segment(domain)}/${segment(id)}`);
  }

  /** Let the server judge a bundle or a file; return its report. */
  async verify(data, { trust = [], proofs = [], at = null, ownTrust = false } = {}) {
    const form = new FormData();
    for (const each of trust) form.append("trust", each);
    for (const each of proofs) form.append("proof", blobOf(each), "proof");
    if (at !== null) form.append("at", at instanceof Date ? at.toISOString() : at);
    form.append("file", blobOf(data), "subject"); // the last part
    return this._transport.ask("POST", "/v1/verify", { params: { own_trust: ownTrust }, body: form });
  }
}

class Transport {
  constructor(url, { key = null, retryMs = RETRY_MS, fetch = globalThis.fetch } = {}) {
    this._url = String(url).replace(/\/+$/, "");
    this._headers = key === null ? {} : { authorization: `Bearer ${key}` };
    this._retryMs = retryMs;
    this._fetch = (...request) => fetch(...request);
  }

  async ask(method, path, options = {}) {
    return (await this.send(method, path, options)).json();
  }

  /** Return the event of an answer, and whether it was recorded before. */
  async record(method, path, options = {}) {
    const answer = await this.send(method, path, options);
    return { ...(await answer.json()), replayed: answer.status === 200 };
  }

  /** Post JSON under an idempotency key, the same for every try. */
  append(path, json, key = globalThis.crypto.randomUUID()) {
    return this.record("POST", path, { json, headers: { "idempotency-key": key } });
  }

  /** Return a good answer, or throw a `FojaError`. `safe`: asking twice does what asking once does. */
  async send(method, path, { safe = true, ...request } = {}) {
    const end = Date.now() + this._retryMs;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        return await this.open(method, path, request);
      } catch (error) {
        const again = error instanceof FojaError && error.retryable && (safe || error.status !== 0);
        const wait = Math.max((error.retryAfter ?? 0) * 1000, pause * (0.5 + Math.random()));
        if (!again || Date.now() + wait > end) throw error;
        await sleep(wait);
      }
    }
  }

  /** Send a request once. */
  async open(method, path, { params = {}, json, body, headers = {}, signal } = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(params)) {
      for (const each of [value].flat()) if (each !== null && each !== undefined) query.append(name, each);
    }
    const address = this._url + path + (query.size ? `?${query}` : "");
    const sent = { ...this._headers, ...headers };
    if (json !== undefined) sent["content-type"] = JSON_TYPE;
    let answer;
    try {
      answer = await this._fetch(address, {
        method,
        headers: sent,
        body: json === undefined ? body : JSON.stringify(json),
        signal,
      });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw new FojaError(`the server does not answer (${cause.message}); ${this._advice()}`, { cause });
    }
    if (!answer.ok) throw await problemOf(answer);
    return answer;
  }

  /** Say what may help; a browser does not tell a script whether the server is away or refuses its origin (CORS). */
  _advice() {
    const own = globalThis.location?.origin;
    if (!own || own === new URL(this._url, own).origin) return "try again";
    return `try again, or let its server accept pages of ${own} (CORS): FOJA_CORS_ORIGINS`;
  }
}

async function problemOf(answer) {
  const text = await answer.text().catch(() => "");
  let problem = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    // a proxy or another server: its status says what there is to say
  }
  const seconds = Number(answer.headers.get("retry-after") ?? NaN);
  const message = problem.detail ?? problem.title ?? `the server answered with HTTP status ${answer.status}`;
  const { code = null, error = null } = problem;
  return new FojaError(message, { status: answer.status, code, error, retryAfter: seconds >= 0 ? seconds : null });
}

/** The events of one stream of the server, read and followed. */
class History {
  constructor(transport, id, path) {
    this._transport = transport;
    this._path = path;
    this.id = id;
  }

  /** Return up to `limit` events after a cursor or number. */
  async events({ after = null, limit = PAGE_EVENTS } = {}) {
    const size = Math.min(limit, PAGE_EVENTS);
    const found = [];
    let [path, params] = [`${this._path}/events`, { after, limit: size }];
    while (found.length < limit) {
      const page = await this._transport.ask("GET", path, { params });
      found.push(...page.events);
      if (page.events.length < size) break;
      [path, params] = [page.next, {}];
    }
    return found.slice(0, limit);
  }

  /**
   * Yield events, transient events and resets, without end, as `View` takes them. A broken connection is
   * resumed at its cursor, and no event comes twice; `signal` ends it.
   */
  follow({ after = null, signal } = {}) {
    return new Follower(this._transport, `${this._path}/stream`, after, signal).items();
  }

  /** Return the event and the proof that the log has it; `foja verify` checks them. */
  prove(seq) {
    return this._transport.ask("GET", `${this._path}/events/${seq}/proof`);
  }
}

class Follower {
  constructor(transport, path, after, signal) {
    this._transport = transport;
    this._path = path;
    this._after = after;
    this._signal = signal;
    this._cursor = null;
    this._seen = new Map(); // above the cursor: whether the number was filled
  }

  async *items() {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      try {
        for await (const item of this._connected()) {
          pause = FIRST_PAUSE_MS;
          yield item;
        }
      } catch (error) {
        if (this._signal?.aborted) return;
        if (error instanceof FojaError && !error.retryable) throw error;
      }
      await sleep(pause);
      if (this._signal?.aborted) return;
    }
  }

  async *_connected() {
    const silence = new AbortController();
    const signal = this._signal ? AbortSignal.any([this._signal, silence.signal]) : silence.signal;
    const headers = { accept: "text/event-stream" };
    if (this._cursor !== null) headers["last-event-id"] = this._cursor;
    const params = this._cursor === null ? { after: this._after } : {};
    const answer = await this._transport.open("GET", this._path, { params, headers, signal });
    for await (const frame of frames(answer.body, () => silence.abort())) {
      const item = this._take(frame);
      if (item !== null) yield item;
    }
  }

  /** Return what a frame says, or null if it was said before. */
  _take({ event = "event", id = null, data }) {
    const item = { ...JSON.parse(data), cursor: id };
    if (event === "reset") {
      [this._cursor, this._after] = [null, null];
      this._seen.clear();
    }
    if (event !== "event") return item;
    const [filled, known] = [item.kind !== OPEN, this._seen.get(item.seq)];
    this._seen.set(item.seq, filled || known === true);
    if (id) this._move(id);
    return known === undefined || (filled && !known) ? item : null;
  }

  _move(cursor) {
    this._cursor = cursor;
    const end = Number(cursor.slice(cursor.lastIndexOf(":") + 1));
    for (const seq of this._seen.keys()) if (seq <= end) this._seen.delete(seq);
  }
}

/** Yield the fields of each server-sent event that has data; `onSilence` is called if nothing comes. */
async function* frames(body, onSilence) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let [rest, fields] = ["", {}];
  try {
    while (true) {
      const timer = setTimeout(onSilence, SILENCE_MS);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if ("data" in fields) yield fields;
          fields = {};
        } else if (!line.startsWith(":")) {
          const [, name, text] = /^([^:]*):? ?(.*)$/s.exec(line);
          fields[name] = name === "data" && "data" in fields ? `${fields.data}\n${text}` : text;
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

// Written by `make generate`; do not edit. Begin.

/** What callers can do about conversations. */
class ConversationsActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** Open a conversation. It exists from its first event on, which may come with it. */
  create({ id = null, event = null, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", "/v1/conversations", { json: { id, event }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** List conversations, newest first. */
  async list({ before = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/conversations", { params: { before, limit } })).conversations;
  }
}

/** What callers can do with one conversation. */
class ConversationActs extends History {
  /** Return how many events a stream has, how many are sealed, and how many numbers were voided. */
  state() {
    return this._transport.ask("GET", `${this._path}`);
  }

  /** Append an event; it cannot be changed. The same Idempotency-Key again returns the first. */
  append(kind, payload, { expectedSeq = null, actor = null, v = 1, idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/events`, { json: { kind, payload, expected_seq: expectedSeq, actor, v }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Append many events, all or none, or each by itself; see the result of each. */
  appendMany(events, { atomic = false, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `${this._path}/events/batch`, { json: { events, atomic }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Return the proof that an event is in the log; 409 while no checkpoint covers it. */
  prove(seq) {
    return this._transport.ask("GET", `${this._path}/events/${segment(seq)}/proof`);
  }

  /** Erase the body of an event. Its hash and every proof of it stay valid. */
  erase(seq, reason) {
    return this._transport.ask("POST", `${this._path}/events/${segment(seq)}/erase`, { json: { reason } });
  }

  /** Add the sealed events as a document and request evidence of it. */
  protect(requiredEvidence = "tsa", { idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `${this._path}/protect`, { json: { required_evidence: requiredEvidence }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Reserve the next numbers, to be filled in any order before the deadline. */
  reserve(count, { ttl = 30, intents = null, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `${this._path}/slots`, { json: { count, ttl, intents }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Extend the deadline of the slots that are still open. */
  extend(token, ttl) {
    return this._transport.ask("POST", `${this._path}/slots/${segment(token)}/extend`, { json: { ttl } });
  }

  /** Fill a slot with its event. The same event again returns the first, with 200. */
  fill(token, seq, kind, payload, { actor = null, v = 1, idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/slots/${segment(token)}/${segment(seq)}`, { json: { kind, payload, actor, v }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Void a slot; the conversation records the reason. */
  void(token, seq, reason) {
    return this._transport.ask("POST", `${this._path}/slots/${segment(token)}/${segment(seq)}/void`, { json: { reason } });
  }

  /** Send a transient event to the current followers; it is not numbered and not stored. */
  emit(kind, payload, { turn = null, blockIndex = null, eventIndex = null, v = 1 } = {}) {
    return this._transport.ask("POST", `${this._path}/transients`, { json: { kind, payload, turn, block_index: blockIndex, event_index: eventIndex, v }, safe: false });
  }

  /** Request an approval of a tool use. The same approval_id again returns the first request. */
  requestApproval(toolName, toolArgs, { ttl = 300, approvalId = null, toolUseId = null, policy = null, turn = null, blockIndex = null, actor = null, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `${this._path}/approvals`, { json: { tool_name: toolName, tool_args: toolArgs, ttl, approval_id: approvalId, tool_use_id: toolUseId, policy, turn, block_index: blockIndex, actor }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** List the approvals of a conversation in order, with their states. */
  async approvals() {
    return (await this._transport.ask("GET", `${this._path}/approvals`)).approvals;
  }

  /** Return one approval with its state. */
  approval(approvalId) {
    return this._transport.ask("GET", `${this._path}/approvals/${segment(approvalId)}`);
  }

  /** Decide. The first decision or expiry wins and is returned; `mine` says whether it is yours. */
  decide(approvalId, decision, { reason = null, actor = null } = {}) {
    return this._transport.ask("POST", `${this._path}/approvals/${segment(approvalId)}`, { json: { decision, reason, actor } });
  }
}

/** What callers can do about streams. */
class StreamsActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** List the registered domains with their kinds. */
  async domains() {
    return (await this._transport.ask("GET", "/v1/streams")).domains;
  }

  /** List the streams of a domain, newest first. */
  async list(domain, { before = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", `/v1/streams/${segment(domain)}`, { params: { before, limit } })).streams;
  }
}

/** What callers can do with one stream. */
class StreamActs extends History {
  /** Return how many events a stream has, and how many are sealed. */
  state() {
    return this._transport.ask("GET", `${this._path}`);
  }

  /** Append an event; it cannot be changed. The same Idempotency-Key again returns the first. */
  append(kind, payload, { expectedSeq = null, actor = null, v = 1, idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/events`, { json: { kind, payload, expected_seq: expectedSeq, actor, v }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Append many events, all or none, or each by itself; see the result of each. */
  appendMany(events, { atomic = false, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `${this._path}/events/batch`, { json: { events, atomic }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Return the proof that an event is in the log; 409 while no checkpoint covers it. */
  prove(seq) {
    return this._transport.ask("GET", `${this._path}/events/${segment(seq)}/proof`);
  }

  /** Erase the body of an event. Its hash and every proof of it stay valid. */
  erase(seq, reason) {
    return this._transport.ask("POST", `${this._path}/events/${segment(seq)}/erase`, { json: { reason } });
  }

  /** Add the sealed events as a document and request evidence of it. */
  protect(requiredEvidence = "tsa", { idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `${this._path}/protect`, { json: { required_evidence: requiredEvidence }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }
}

/** What callers can do about documents. */
class DocumentsActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** List documents, newest first. */
  async list({ state = null, before = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/documents", { params: { state, before, limit } })).documents;
  }

  /** Add many documents by their digests, each by itself; see the result of each. */
  addMany(documents, { requiredEvidence = null, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", "/v1/documents/batch", { json: { documents, required_evidence: requiredEvidence }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }
}

/** What callers can do with one document. */
class DocumentActs extends History {
  /** Return a document as its events show it: its state, its evidence, and what happens next. */
  view() {
    return this._transport.ask("GET", `${this._path}`);
  }

  /** Request evidence of the document as it is now. An equal request returns the first one. */
  protect(requiredEvidence = ["tsa"], { stage = null, witnessHash = null, idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/protect`, { json: { required_evidence: requiredEvidence, stage, witness_hash: witnessHash }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Append an event of the document's lifecycle, such as `document.witness.ready`. */
  record(kind, payload = null, { idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/events`, { json: { kind, payload }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Check a signature over the document as it is now, and record it; the same one is recorded once. */
  sign(signature = null, { witnessHash = null, format = null, key = null, certificate = null, signer = null, reason = null, idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/signatures`, { json: { signature, witness_hash: witnessHash, format, key, certificate, signer, reason }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Revoke the document. Its proofs stay valid; no further evidence is requested. */
  revoke(reason, { idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/revoke`, { json: { reason }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Archive the document. No further evidence is requested, and only workers may append events. */
  archive(reason, { idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/archive`, { json: { reason }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Grant new attempts for an evidence that was given up. */
  retry(evidence = "tsa", { reason = null, idempotencyKey = null } = {}) {
    return this._transport.record("POST", `${this._path}/retry`, { json: { evidence, reason }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Erase name, digest and predecessor from `document.added`; return what stays, and why. */
  erase(reason) {
    return this._transport.ask("POST", `${this._path}/erase`, { json: { reason } });
  }

  /** Return the proof that an event is in the log; 409 while no checkpoint covers it. */
  prove(seq) {
    return this._transport.ask("GET", `${this._path}/events/${segment(seq)}/proof`);
  }

  /** Return what this installation trusts about the document, as `/v1/verify` takes it. */
  async trust() {
    return (await this._transport.ask("GET", `${this._path}/trust`)).trust;
  }

  /** Return each proof of the current digest as a file in its tool's own format. */
  proofs() {
    return this._transport.ask("GET", `${this._path}/proofs`);
  }
}

/** What callers can do about images. */
class ImagesActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** List products by id. */
  async products({ after = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/products", { params: { after, limit } })).products;
  }

  /** List the images of a product in order; a product without events has none. */
  async list(productId, { at = null } = {}) {
    return (await this._transport.ask("GET", `/v1/products/${segment(productId)}/images`, { params: { at } })).images;
  }

  /** Return one image. */
  image(productId, imageId) {
    return this._transport.ask("GET", `/v1/products/${segment(productId)}/images/${segment(imageId)}`);
  }

  /** Move an image to a place; place 0 makes it the main one. */
  move(productId, imageId, to, { expectedSeq = null, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `/v1/products/${segment(productId)}/images/${segment(imageId)}/move`, { json: { to, expected_seq: expectedSeq }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Set the alternative text of an image; an empty one removes it. */
  describe(productId, imageId, alt, { expectedSeq = null, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `/v1/products/${segment(productId)}/images/${segment(imageId)}/describe`, { json: { alt, expected_seq: expectedSeq }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Remove an image; those after it move up. */
  remove(productId, imageId, { reason = "removed", expectedSeq = null } = {}) {
    return this._transport.ask("DELETE", `/v1/products/${segment(productId)}/images/${segment(imageId)}`, { params: { reason, expected_seq: expectedSeq }, safe: false });
  }

  /** Add the sealed events of a gallery as a document and request evidence of it. */
  protect(productId, requiredEvidence = "tsa", { idempotencyKey = null } = {}) {
    return this._transport.ask("POST", `/v1/products/${segment(productId)}/protect`, { json: { required_evidence: requiredEvidence }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Render the images of a product again whose last job failed or was skipped. */
  renderFailed(productId, { force = false } = {}) {
    return this._transport.ask("POST", `/v1/products/${segment(productId)}/images/render`, { params: { force } });
  }

  /** Render an image again. */
  render(productId, imageId, { force = false } = {}) {
    return this._transport.ask("POST", `/v1/products/${segment(productId)}/images/${segment(imageId)}/render`, { params: { force } });
  }

  /** Return how far the variants of an image are. */
  rendering(productId, imageId) {
    return this._transport.ask("GET", `/v1/products/${segment(productId)}/images/${segment(imageId)}/rendering`);
  }
}

/** What callers can do about jobs. */
class JobsActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** List jobs, newest first. */
  async list({ state = null, type = null, entityId = null, before = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/jobs", { params: { state, type, entity_id: entityId, before, limit } })).jobs;
  }

  /** Return one job as it stands. */
  show(jobId) {
    return this._transport.ask("GET", `/v1/jobs/${segment(jobId)}`);
  }

  /** List the types of which jobs are ready and that no running worker does. */
  async unhandled() {
    return (await this._transport.ask("GET", "/v1/jobs/unhandled")).types;
  }

  /** Queue a job of a domain of yours. A type, a stream and a key make one job, for ever. */
  enqueue(type, entityId, { key = null, payload = null, delay = 0.0, priority = 1, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", "/v1/jobs", { json: { type, entity_id: entityId, key, payload, delay, priority }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Queue dead jobs anew with fresh tries, and waiting ones at once: these, or all that match. */
  retry(ids = null, { state = null, type = null, entityId = null } = {}) {
    return this._transport.ask("POST", "/v1/jobs/retry", { json: { ids, state, type, entity_id: entityId } });
  }

  /** End jobs that are not over, and put dead ones away: these, or all that match. */
  cancel(ids = null, { state = null, type = null, entityId = null } = {}) {
    return this._transport.ask("POST", "/v1/jobs/cancel", { json: { ids, state, type, entity_id: entityId } });
  }

  /** Stop claims of this type, for all tenants, until it is resumed; running jobs finish. */
  pause(jobType) {
    return this._transport.ask("POST", `/v1/jobs/types/${segment(jobType)}/pause`);
  }

  /** Let this type be claimed again. */
  resume(jobType) {
    return this._transport.ask("POST", `/v1/jobs/types/${segment(jobType)}/resume`);
  }
}

/** What callers can do about anchors. */
class AnchorsActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** List the networks: whether each is enabled, what waits, and what was spent. */
  async overview() {
    return (await this._transport.ask("GET", "/v1/anchors")).networks;
  }

  /** List batches, newest first. */
  async list({ network = null, status = null, before = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/anchors/batches", { params: { network, status, before, limit } })).batches;
  }

  /** Return one batch as it stands. */
  show(batchId) {
    return this._transport.ask("GET", `/v1/anchors/batches/${segment(batchId)}`);
  }

  /** Return what batches cost, by day and network, newest first. */
  async cost({ network = null, days = 30 } = {}) {
    return (await this._transport.ask("GET", "/v1/anchors/costs", { params: { network, days } })).costs;
  }

  /** Check a network and let documents require it, unless something is missing; see what was found. */
  enable(network) {
    return this._transport.ask("POST", `/v1/anchors/${segment(network)}/enable`);
  }

  /** Let no document require a network any more; attempts that are open go on. */
  disable(network) {
    return this._transport.ask("POST", `/v1/anchors/${segment(network)}/disable`);
  }

  /** Send the digests that wait for a batch now, without waiting for more. */
  flush(network) {
    return this._transport.ask("POST", `/v1/anchors/${segment(network)}/flush`);
  }
}

/** What callers can do about alerts. */
class AlertsActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** List every alert with its value, its limit and its state. */
  async list({ firing = false } = {}) {
    return (await this._transport.ask("GET", "/v1/alerts", { params: { firing } })).alerts;
  }

  /** List what fired and cleared, newest first. */
  async history({ limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/alerts/history", { params: { limit } })).notices;
  }
}

/** What callers can do about maintenance. */
class MaintenanceActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** Return candidates for a purge by age, the last runs, and whether the automatic purge is armed. */
  report({ limit = 100 } = {}) {
    return this._transport.ask("GET", "/v1/maintenance/cleanup", { params: { limit } });
  }

  /** List the candidates that are not purged, oldest first. */
  async candidates({ limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/maintenance/candidates", { params: { limit } })).candidates;
  }

  /** Look for objects that nothing refers to, and stage them unless it is a dry run. Delete nothing. */
  cleanup({ dryRun = true } = {}) {
    return this._transport.ask("POST", "/v1/maintenance/cleanup", { json: { dry_run: dryRun } });
  }

  /** Delete what has been a candidate for long enough; a dry run only counts it. */
  purge({ dryRun = true, reason = null } = {}) {
    return this._transport.ask("POST", "/v1/maintenance/purge", { json: { dry_run: dryRun, reason } });
  }

  /** Delete one object now, past the grace period. Refused while anything refers to it. */
  purgeObject(sha256, reason) {
    return this._transport.ask("POST", "/v1/maintenance/purge/object", { json: { sha256, reason } });
  }

  /** Let a candidate, or an object in quarantine, be live again. */
  restore(sha256, reason) {
    return this._transport.ask("POST", "/v1/maintenance/restore", { json: { sha256, reason } });
  }

  /** Start failed work of the tenant again: evidence that was given up, variants, dead jobs. */
  retry({ what = null, reason = null, force = false } = {}) {
    return this._transport.ask("POST", "/v1/maintenance/retry", { json: { what, reason, force } });
  }
}

/** What callers can do about webhooks. */
class WebhooksActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** Create a webhook and show its secret, once. */
  create(url, { kinds = ["*"], includePayload = false, description = "", secret = null, fromStart = false, idempotencyKey = null } = {}) {
    return this._transport.ask("POST", "/v1/webhooks", { json: { url, kinds, include_payload: includePayload, description, secret, from_start: fromStart }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** List the webhooks of the tenant, oldest first. */
  async list() {
    return (await this._transport.ask("GET", "/v1/webhooks")).webhooks;
  }

  /** Return one webhook as it stands. */
  show(webhookId) {
    return this._transport.ask("GET", `/v1/webhooks/${segment(webhookId)}`);
  }

  /** Change a webhook, or switch it on or off. What it missed while it was off is delivered. */
  change(webhookId, { url = null, kinds = null, includePayload = null, description = null, state = null, reason = null } = {}) {
    return this._transport.ask("PATCH", `/v1/webhooks/${segment(webhookId)}`, { json: { url, kinds, include_payload: includePayload, description, state, reason } });
  }

  /** Remove a webhook with its log; what waits is not delivered. */
  remove(webhookId) {
    return this._transport.ask("DELETE", `/v1/webhooks/${segment(webhookId)}`);
  }

  /** Make a new secret and show it, once; the old one signs as well until the overlap ends. */
  rotate(webhookId, { secret = null, overlapSeconds = 86400.0 } = {}) {
    return this._transport.ask("POST", `/v1/webhooks/${segment(webhookId)}/rotate`, { json: { secret, overlap_seconds: overlapSeconds }, safe: false });
  }

  /** List deliveries, newest first. */
  async deliveries(webhookId, { state = null, before = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", `/v1/webhooks/${segment(webhookId)}/deliveries`, { params: { state, before, limit } })).deliveries;
  }

  /** Return one delivery with all its attempts, oldest first. */
  delivery(webhookId, number) {
    return this._transport.ask("GET", `/v1/webhooks/${segment(webhookId)}/deliveries/${segment(number)}`);
  }

  /** Deliver again: a range of numbers or times, or what failed. Receivers see the same ids. */
  replay(webhookId, { first = null, last = null, since = null, until = null, failed = false } = {}) {
    return this._transport.ask("POST", `/v1/webhooks/${segment(webhookId)}/replay`, { json: { first, last, since, until, failed }, safe: false });
  }
}

/** What callers can do about log. */
class LogActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** Return the newest published checkpoint, and the key that signed it. */
  head() {
    return this._transport.ask("GET", "/v1/log");
  }

  /** Return the trust roots of this installation: the key of its log, the roots of its timestamps. */
  async trust() {
    return (await this._transport.ask("GET", "/v1/log/trust")).trust;
  }

  /** Return the proof that an event of any stream is in the log; 409 while no checkpoint covers it. */
  prove(entityId, seq) {
    return this._transport.ask("GET", `/v1/log/proofs/${segment(entityId)}/${segment(seq)}`);
  }

  /** Return the checkpoints that networks confirmed, with their proofs. */
  async anchored({ limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/log/anchored", { params: { limit } })).anchored;
  }
}

/** What callers can do about access. */
class AccessActs {
  constructor(transport) {
    this._transport = transport;
  }

  /** Return who sends this request, and what it may do. */
  me() {
    return this._transport.ask("GET", "/v1/access/me");
  }

  /** Return the names of these actors that have one: of keys, people, and users of this machine. */
  names(actor) {
    return this._transport.ask("GET", "/v1/access/names", { params: { actor } });
  }

  /** List the newest keys of the tenant; of all tenants for a key of the installation. */
  async keys({ tenant = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/access/keys", { params: { tenant, limit } })).keys;
  }

  /** Make a key and show it, once; from then on, every HTTP request needs a key or a login. */
  createKey(scopes = ["read"], { name = "", tenant = null, installation = false, expiresAt = "365d", idempotencyKey = null } = {}) {
    return this._transport.ask("POST", "/v1/access/keys", { json: { scopes, name, tenant, installation, expires_at: expiresAt }, headers: { "idempotency-key": idempotencyKey ?? newId() } });
  }

  /** Revoke a key. It ends everywhere within a second, with its sessions and streams. */
  revokeKey(keyId) {
    return this._transport.ask("POST", `/v1/access/keys/${segment(keyId)}/revoke`);
  }

  /** Give a key a new secret; the one before stays valid for a while. */
  rotateKey(keyId, { overlapSeconds = 86400.0 } = {}) {
    return this._transport.ask("POST", `/v1/access/keys/${segment(keyId)}/rotate`, { json: { overlap_seconds: overlapSeconds }, safe: false });
  }

  /** List the newest sessions that are not over. */
  async sessions({ tenant = null, limit = 100 } = {}) {
    return (await this._transport.ask("GET", "/v1/access/sessions", { params: { tenant, limit } })).sessions;
  }

  /** End a session everywhere within a second. */
  revokeSession(sessionId) {
    return this._transport.ask("POST", `/v1/access/sessions/${segment(sessionId)}/revoke`);
  }
}

// End of what `make generate` writes.

/** One stream of a domain of yours. It exists from its first event on. */
export class Stream extends StreamActs {}

/** A conversation of the server. */
export class Conversation extends ConversationActs {}

/** Every conversation of the tenant. */
class Conversations extends ConversationsActs {
  constructor(transport, documents) {
    super(transport);
    this._documents = documents;
  }

  /** Return a new conversation, or the one with this id. Nothing is sent before it is used. */
  open(id = newId()) {
    return new Conversation(this._transport, id, `/v1/conversations/${segment(id)}`);
  }

  /** Return the ids of conversations, newest first. */
  async list({ before = null, limit = 100 } = {}) {
    return (await super.list({ before, limit })).map((each) => each.id);
  }

  /** Add the sealed events as a document and request evidence of it. */
  async protect(id, requiredEvidence = ["tsa"]) {
    return this._documents._added(await this.open(id).protect(requiredEvidence));
  }
}

/** A document of the server. */
export class Document extends DocumentActs {
  /** Return the evidence there is now as one file, which `foja verify` checks. */
  async bundle({ withDocument = true } = {}) {
    const params = { with_document: withDocument };
    const answer = await this._transport.send("GET", `${this._path}/bundle`, { params });
    return new Uint8Array(await answer.arrayBuffer());
  }
}

/** Every document of the tenant. */
class Documents extends DocumentsActs {
  /** Add bytes: text, a Blob or File, or a typed array. The same again is the same document. */
  async add(data, { name = data.name ?? null, mediaType = null, predecessor = null } = {}) {
    const headers = { "content-type": mediaType || data.type || BYTES };
    const body = blobOf(data);
    const request = { params: { name, predecessor }, headers, body };
    return this._added(await this._transport.ask("POST", "/v1/documents", request));
  }

  /** Add a document by its SHA-256 digest; its bytes stay with you. */
  async addDigest(sha256, { name = null, size = null, mediaType = null } = {}) {
    const json = { sha256, name, size, media_type: mediaType };
    return this._added(await this._transport.ask("POST", "/v1/documents", { json }));
  }

  /** Return the document with this id. Nothing is sent before it is used. */
  open(id) {
    return new Document(this._transport, id, `/v1/documents/${segment(id)}`);
  }

  protect(id, requiredEvidence) {
    return this.open(id).protect(requiredEvidence);
  }

  view(id) {
    return this.open(id).view();
  }

  bundle(id, options) {
    return this.open(id).bundle(options);
  }

  _added({ id, ...fields }) {
    return Object.assign(this.open(id), fields);
  }
}

/** The galleries of the tenant's products. */
class Images extends ImagesActs {
  constructor(transport, documents) {
    super(transport);
    this._documents = documents;
  }

  /** Add an image at the end of a gallery. */
  add(productId, data, { name = data.name ?? null, alt = null, supplierId = null, idempotencyKey } = {}) {
    const form = new FormData();
    for (const [field, value] of Object.entries({ name, alt, supplier_id: supplierId })) {
      if (value !== null) form.append(field, value);
    }
    form.append("file", blobOf(data), name ?? "image"); // the last part
    const headers = { "idempotency-key": idempotencyKey ?? globalThis.crypto.randomUUID() };
    return this._transport.ask("POST", `/v1/products/${segment(productId)}/images`, { body: form, headers });
  }

  /** Add the sealed events of a gallery as a document and request evidence of it. */
  async protect(productId, requiredEvidence = ["tsa"]) {
    return this._documents._added(await super.protect(productId, requiredEvidence));
  }
}

function segment(value) {
  return encodeURIComponent(String(value));
}

function blobOf(data) {
  return data instanceof Blob ? data : new Blob([data]);
}

function sleep(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

/** A time-ordered id (UUIDv7), as the server makes them. */
function newId() {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  const now = BigInt(Date.now());
  for (let place = 0; place < 6; place++) bytes[place] = Number((now >> BigInt(8 * (5 - place))) & 0xffn);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (each) => each.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
