/**
 * Words of others in our sentences: `quoted` as in `foja.quotation`, both pass the same test.
 * A text from right to left is isolated by the element that it stands in.
 */
const LONGEST = 120;
const MOST_MARKS = 3; // on one letter
const JOINERS = "\u200c\u200d";
const BLANKS = "\u115f\u1160\u2800\u3164\uffa0"; // letters without ink
const LIKE_QUOTES = "`„‚⹂´¨ʹʺʻʼʽˈˊˋ˝ˮ՛՝׳״′″‴‵‶‷⁗❛❜❝❞❟❠〃〝〞〟＂＇｀𝅏";

/** Return a text from outside as a quotation in one line, cut and escaped. */
export function quoted(text, longest = LONGEST) {
  const all = Array.from(String(text));
  const start = all.slice(0, 4 * longest);
  let shown = start.map(one).join("").split(/\s+/u).filter(Boolean).join(" ");
  shown = shown.replace(/\p{M}+/gu, (marks) => Array.from(marks).slice(0, MOST_MARKS).join(""));
  if (/^\p{M}/u.test(shown)) shown = `◌${shown}`;
  const letters = Array.from(shown.replace(/'{2,}/g, "'"));
  const cut = letters.length > longest || all.length > start.length;
  return `“${letters.slice(0, longest).join("")}${cut ? "…" : ""}”`;
}

/** Return a character as a quotation may show it. */
function one(character) {
  if (LIKE_QUOTES.includes(character) || /[\p{Pi}\p{Pf}]/u.test(character)) return "'";
  if (character.normalize("NFKC").includes('"')) return "'";
  if (/\p{Z}/u.test(character) || BLANKS.includes(character)) return " ";
  return !/\p{C}/u.test(character) || JOINERS.includes(character) ? character : "\ufffd";
}
