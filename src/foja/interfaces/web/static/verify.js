/**
 * Verifies by drop. A file that comes with separate proofs stays in the browser: only its digest is sent.
 * Without this script the same form is sent as it is.
 */
import { digestOf } from "./sha256.js";

const BUNDLE = "mimetypeapplication/vnd.etsi.asic-e+zip";
const PROOF = "mimetypeapplication/vnd.foja.proof+zip";
const HEADER = 30; // bytes before the name of the first file
const form = document.querySelector("form[data-verify]");
const file = document.getElementById("file");
const proofs = document.getElementById("proofs");
const send = document.getElementById("send");
const status = form.querySelector("[data-status]");
const bar = form.querySelector("progress");

for (const zone of form.querySelectorAll("[data-drop]")) {
  const input = document.getElementById(zone.dataset.drop);
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    input.files = event.dataTransfer.files;
    if (input === file) form.requestSubmit();
  });
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    await judge(await content());
    status.textContent = "";
  } catch {
    status.textContent = form.dataset.failed;
  } finally {
    button.disabled = false;
    bar.hidden = true;
  }
});

/** Return what is sent: the fields, with the digest of the file instead of the file where that is enough. */
async function content() {
  const data = new FormData(form);
  const chosen = file.files[0];
  if (!chosen || send.checked || !proofs.files.length || (await isBundle(chosen))) return data;
  status.textContent = form.dataset.hashing;
  bar.hidden = false;
  data.delete("file");
  data.set("digest", await digestOf(chosen, (part) => (bar.value = part)));
  data.set("name", chosen.name);
  return data;
}

/** Return whether a file is itself the evidence. */
async function isBundle(chosen) {
  const type = new TextDecoder("latin1").decode(await chosen.slice(HEADER, 2 * BUNDLE.length).arrayBuffer());
  return type.startsWith(BUNDLE) || type.startsWith(PROOF);
}

async function judge(data) {
  status.textContent = form.dataset.judging;
  const answer = await fetch(form.action, { method: "POST", body: data });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const result = document.getElementById("result");
  const fresh = page.getElementById("result");
  if (fresh) result.replaceChildren(...fresh.children);
  else result.replaceChildren(page.querySelector("[role=alert]"));
  result.focus();
}
