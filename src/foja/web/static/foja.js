/**
 * A conversation as it is read: `order` sorts what travels on the wire, `View` folds it
 * into what a person sees. The same as `foja.conversations` in Python; one file of vectors
 * holds both. No dependency, no clock, no network.
 *
 * @typedef {Object<string, any>} Item  A persisted event (`seq` is a number, 0 included) or
 *   something transient (`seq` is null), as the HTTP door sends it.
 */

/**
 * Return these items in reading order, whatever the order they came in.
 *
 * Persisted by number, before all that is transient. Transient by turn: the turn that was
 * heard of first comes first, then by name. Within a turn those with an index come first,
 * by `block_index ?? event_index`, then by `event_index`; the rest comes after. What is
 * still equal goes by time, then by id, then by what it says. What is missing or makes no
 * sense counts as absent, and comes after what is there.
 *
 * @param {Iterable<Item>} items
 * @returns {Item[]} a new list
 */
export function order(items) {
  const places = Array.from(items, placeOf);
  const first = firstHeard(places);
  return places.sort((a, b) => comparePlaces(a, b, first)).map((place) => place.item);
}

/** What there is to compare of one item; the time and the spelling only once they are asked for. */
function placeOf(item) {
  const block = indexOf(item.block_index);
  const event = indexOf(item.event_index);
  return { item, seq: numberOf(item.seq), turn: turnName(item.turn), index: block ?? event, event };
}

/** When each turn was first heard of, by the times of what is transient in it. */
function firstHeard(places) {
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
    compareText(spelled(a.item), spelled(b.item))
  );
}

/** What has no turn goes before a turn that was heard of at the same time. */
function compareTurns(a, b, first) {
  if (a === b) return 0;
  return compareInstants(first.get(a), first.get(b)) || (a === null ? -1 : b === null ? 1 : compareText(a, b));
}

function absentLast(a, b, compare) {
  if (a === null || b === null) return (a === null) - (b === null);
  return compare(a, b);
}

/** Compare as Python does, by code points; `<` would compare halves of surrogate pairs. */
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

/** A moment, exact to the last digit (a `Date` keeps milliseconds only); UTC if it has no offset. */
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

/** A turn's name; a number is called as it is written. */
function turnName(turn) {
  return typeof turn === "string" ? turn : Number.isFinite(turn) ? String(turn) : null;
}

/** The one spelling of a JSON value: keys sorted, no spaces (RFC 8785). */
function spelled(value) {
  if (Array.isArray(value)) return `[${value.map(spelled).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${spelled(value[key])}`);
  return `{${members.join(",")}}`;
}

const CHUNKS = new Set(["message_chunk", "thinking_chunk"]);
const ENDS = new Set(["complete", "session_end"]);
const OPEN = "slot.open";

/**
 * What a person sees of a conversation, as far as it is known. Adding to it makes a new one.
 *
 * Feed it whatever comes, in whatever order and as often as it comes: a persisted event
 * replaces what stood at its number, what is transient goes away with the event that names
 * its block, with the end of its turn (`complete`) or of its session (`session_end`). So a
 * view that was fed live and one that was loaded afresh are equal once nothing is in passing.
 */
export class View {
  /** @param {Iterable<Item>} items */
  constructor(items = []) {
    this._forget();
    for (const item of items) this._take(item);
  }

  /**
   * Return the view after these items: events, what is transient, resets.
   * @param {...Item} items
   */
  add(...items) {
    return this.addAll(items);
  }

  /** The same for a list, however long. @param {Iterable<Item>} items */
  addAll(items) {
    const next = new View();
    next._events = new Map(this._events);
    next._passing = new Map(this._passing);
    next._blocks = new Set(this._blocks);
    next._ended = new Set(this._ended);
    next._silent = this._silent;
    next._closed = this._closed;
    next._shown = this._shown;
    for (const item of items) next._take(item);
    return next;
  }

  /** Is nothing in passing? Then a fresh load shows the same. */
  get settled() {
    return this._passing.size === 0;
  }

  /**
   * Return everything to be shown, in reading order: each item as it came, without its
   * cursor, and with `state` and `pair`, the number of its other half, where it has them.
   * A block in progress is one item, its chunks joined; `partial` if some were missed.
   *
   * States: a tool's request is pending, completed, failed, denied or voided, its result the
   * same or unpaired; an approval is requested, approved, denied or expired; a slot is open
   * or voided; a body may be erased; what is in passing is streaming or an error.
   *
   * @returns {Item[]}
   */
  items() {
    if (this._shown === null) this._shown = showEvents(this._events);
    return [...this._shown, ...fold(this._passing.values())];
  }

  // What begins with an underscore is nobody else's business.

  _take(item) {
    const seq = numberOf(item.seq);
    if (item.kind === "reset") this._forget();
    else if (seq !== null) this._record(seq, item);
    else if (ENDS.has(item.kind)) this._end(item);
    else if ((CHUNKS.has(item.kind) || item.kind === "error") && !this._isOver(item)) {
      this._passing.set(turnName(item.id) ?? spelled(item), item);
    }
  }

  _forget() {
    this._events = new Map();
    this._passing = new Map();
    this._blocks = new Set();
    this._ended = new Set();
    this._silent = NEVER;
    this._closed = NEVER;
    this._shown = null; // the persisted half of `items`, until an event changes it
  }

  _record(seq, item) {
    const known = this._events.get(seq);
    // A number never opens again, and an erased body never comes back.
    const erased = (item.payload ?? null) === null && item.kind !== OPEN;
    if (!known || known.kind === OPEN || erased) {
      this._events.set(seq, item);
      this._shown = null;
    }
    const block = blockOf(bodyOf(item).turn, bodyOf(item).block_index);
    if (block !== null && !this._blocks.has(block)) {
      this._blocks.add(block);
      this._clear();
    }
  }

  _end(item) {
    const turn = turnName(item.turn);
    if (turn !== null) this._ended.add(turn);
    else if (item.kind === "complete") this._silent = laterOf(this._silent, instant(item.at));
    if (item.kind === "session_end") this._closed = laterOf(this._closed, instant(item.at));
    this._clear();
  }

  _clear() {
    for (const [name, item] of this._passing) if (this._isOver(item)) this._passing.delete(name);
  }

  /** Does this belong to a block that is persisted, or to a turn or session that ended? */
  _isOver(item) {
    const [turn, at] = [turnName(item.turn), instant(item.at)];
    const silent = turn !== null ? this._ended.has(turn) : compareInstants(at, this._silent) <= 0;
    const block = blockOf(turn, item.block_index);
    return silent || compareInstants(at, this._closed) <= 0 || (block !== null && this._blocks.has(block));
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

/** The block that a turn and an index name, or null if they name none. */
function blockOf(turn, blockIndex) {
  const [name, index] = [turnName(turn), indexOf(blockIndex)];
  return name === null || index === null ? null : JSON.stringify([name, index]);
}

/** What an item says; nothing, if it was erased. */
function bodyOf(item) {
  return item.payload !== null && typeof item.payload === "object" && !Array.isArray(item.payload) ? item.payload : {};
}

function show(item, state = null, pair = null) {
  const { cursor, ...shown } = item;
  // The deadline of an open slot may move without a word.
  if (item.kind === OPEN) shown.payload = { intent: bodyOf(item).intent ?? null };
  return { ...shown, state, pair };
}

function showEvents(known) {
  const events = asErased(known);
  const { states, pairs } = pairUp(events);
  return Array.from(events, ([seq, item]) => show(item, states.get(seq) ?? null, pairs.get(seq) ?? null));
}

/** The events by number, lowest first, as they read once every `body.erased` is taken at its word. */
function asErased(known) {
  const gone = new Set();
  for (const item of known.values()) if (item.kind === "body.erased") gone.add(numberOf(bodyOf(item).seq));
  const sorted = [...known].sort(([a], [b]) => a - b);
  return new Map(sorted.map(([seq, item]) => [seq, gone.has(seq) ? { ...item, payload: null, actor: null } : item]));
}

/** Which request an answer belongs to, and how each request stands. */
function pairUp(events) {
  const [states, pairs] = [new Map(), new Map()];
  const refused = pairApprovals(events, states, pairs);
  pairTools(events, states, pairs, refused);
  for (const [seq, item] of events) {
    const state = stateAlone(seq, item, states, pairs);
    if (state !== undefined) states.set(seq, state);
  }
  return { states, pairs };
}

/** The tool uses whose approval was denied or expired. */
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
      const kept = numberOf(bodyOf(events.get(seq)).result_seq);
      const state = toolState(events, answer, refused.has(tool), kept);
      const half = state === "voided" ? kept : answer;
      states.set(seq, state);
      if (half !== undefined) pairs.set(seq, half).set(half, seq);
    });
  }
}

function toolState(events, answer, refused, kept) {
  const said = answer === undefined ? {} : bodyOf(events.get(answer));
  if (said.success === true) return "completed";
  if (refused || said.denied === true) return "denied";
  if (answer !== undefined) return "failed";
  return kept !== null && events.get(kept)?.kind === "slot.voided" ? "voided" : "pending";
}

/** What an event says of itself, whether or not it has another half. */
function stateAlone(seq, item, states, pairs) {
  if (item.kind === OPEN) return "open";
  if ((item.payload ?? null) === null) return "erased";
  if (item.kind === "slot.voided") return "voided";
  if (item.kind === "approval_completed") return bodyOf(item).decision;
  if (item.kind === "tool_use_completed") return pairs.has(seq) ? states.get(pairs.get(seq)) : "unpaired";
  return undefined;
}

/** The numbers of a kind's events by what one field says, lowest first. */
function numbersBy(events, kind, field) {
  const found = new Map();
  for (const [seq, item] of events) {
    const said = bodyOf(item)[field];
    if (item.kind !== kind || typeof said !== "string") continue;
    if (found.has(said)) found.get(said).push(seq);
    else found.set(said, [seq]);
  }
  return found;
}

/** The blocks in progress, the chunks of each as one, and errors as they are, in reading order. */
function fold(passing) {
  const blocks = new Map();
  order(passing).forEach((item, place) => {
    const block = JSON.stringify([item.kind, turnName(item.turn), indexOf(item.block_index)]);
    const key = CHUNKS.has(item.kind) ? block : place;
    if (blocks.has(key)) blocks.get(key).push(item);
    else blocks.set(key, [item]);
  });
  return Array.from(blocks.values(), (items) =>
    CHUNKS.has(items[0].kind) ? progress(items) : show(items[0], "error"),
  );
}

/**
 * One block in progress. It is partial if a piece of it was missed, its first one included.
 * Without a block index the pieces are counted along the turn, and nothing can be missed for sure.
 */
function progress(chunks) {
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
