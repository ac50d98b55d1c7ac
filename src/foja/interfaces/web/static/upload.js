/** Uploads by drag or by choice, with progress. Without this script the same form is sent as it is. */

for (const form of document.querySelectorAll("form[data-upload]")) {
  const input = form.querySelector("input[type=file]");
  const zone = form.querySelector(".drop") ?? form;
  const bar = form.querySelector("progress");
  const status = form.querySelector("[data-status]");

  const over = (on) => zone.classList.toggle("over", on);
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    over(true);
  });
  zone.addEventListener("dragleave", () => over(false));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    over(false);
    if (!event.dataTransfer.files.length) return;
    input.files = event.dataTransfer.files;
    form.requestSubmit();
  });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const large = Array.from(input.files).filter((each) => each.size > Number(form.dataset.most));
    if (large.length) status.textContent = `${form.dataset.large} ${large.map((each) => each.name).join(", ")}`;
    else send(form, bar, status);
  });
}

/** Send the form; show the page that answers it, or why it was refused. */
function send(form, bar, status) {
  const button = form.querySelector("button");
  const request = new XMLHttpRequest();
  const end = (text) => {
    status.textContent = text;
    bar.hidden = true;
    button.disabled = false;
  };
  request.upload.onprogress = (event) => {
    bar.value = event.lengthComputable ? event.loaded / event.total : 0;
  };
  request.onload = () => {
    if (request.status < 400) location.assign(request.responseURL);
    else end(new DOMParser().parseFromString(request.responseText, "text/html").querySelector("[role=alert] p")?.textContent ?? request.statusText);
  };
  request.onerror = () => end(form.dataset.failed);
  request.open("POST", form.action);
  request.send(new FormData(form));
  bar.hidden = false;
  button.disabled = true;
  status.textContent = "";
}
