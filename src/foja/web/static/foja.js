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

const TIME =
  /^(?!0000)(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):?(\d\d))?$/;

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
