/** A gallery: reorder by drag or by Alt and an arrow key; a blurred picture until the real one is there. */
import { refreshSoon } from "./live.js";
import { draw } from "./thumbhash.js";

let dragged = null;

prepare();
document.addEventListener("replaced", prepare);

function prepare() {
  for (const each of document.querySelectorAll("[data-thumbhash]")) {
    const picture = each.querySelector("img");
    if (!picture?.complete && !each.querySelector("canvas")) draw(each);
    picture?.addEventListener("load", () => each.querySelector("canvas")?.remove(), { once: true });
  }
}

const itemOf = (event) => event.target.closest?.("[data-image][draggable]");

document.addEventListener("dragstart", (event) => {
  dragged = itemOf(event);
  if (!dragged) return;
  event.dataTransfer.setData("text/plain", dragged.dataset.image);
  event.dataTransfer.effectAllowed = "move";
  dragged.classList.add("dragged");
});
document.addEventListener("dragend", () => {
  dragged?.classList.remove("dragged");
  mark(null);
  dragged = null;
});
document.addEventListener("dragover", (event) => {
  const over = itemOf(event);
  if (!dragged || !over) return;
  event.preventDefault();
  mark(over);
});
document.addEventListener("drop", (event) => {
  const over = itemOf(event);
  if (!dragged || !over) return;
  event.preventDefault();
  move(dragged, Number(over.dataset.order));
});
document.addEventListener("keydown", (event) => {
  const item = itemOf(event);
  const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
  if (!item || !step || !event.altKey) return;
  event.preventDefault();
  const to = Number(item.dataset.order) + step;
  if (to >= 0 && to < item.parentElement.children.length) move(item, to);
});

function mark(item) {
  for (const each of document.querySelectorAll(".target")) each.classList.remove("target");
  if (item && item !== dragged) item.classList.add("target");
}

/** Move an image: on the page at once, then on the server; the page shows what the server says. */
async function move(item, to) {
  if (Number(item.dataset.order) === to) return;
  const form = item.querySelector("form[action$='/move']");
  const data = new FormData(form);
  data.set("to", String(to));
  const others = Array.from(item.parentElement.children).filter((each) => each !== item);
  item.parentElement.insertBefore(item, others[to] ?? null);
  await fetch(form.action, { method: "POST", body: new URLSearchParams(data), keepalive: true }).catch(() => {});
  refreshSoon(0);
}
