/**
 * Reading order and view of a conversation: `order` sorts events, `View` folds them into
 * what a page shows. Equal to `foja.conversations` in Python; both pass the same test
 * vectors. No dependencies, no clock, no network.
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
  for (const [approval, seqs] of numbersBy(events, "approval_requested", "approval_id")) {
    const answer = answers.get(approval)?.[0];
    const decision = answer === undefined ? "requested" : bodyOf(events.get(answer)).decision;
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
