// Upload a file with tus-js-client through a proxy that cuts the connection; argument: JSON.
const tus = require("tus-js-client");
const fs = require("fs");
const given = JSON.parse(process.argv[2]);
let retries = 0;
const upload = new tus.Upload(fs.createReadStream(given.file), {
  endpoint: given.endpoint,
  chunkSize: given.chunk,
  uploadSize: fs.statSync(given.file).size,
  retryDelays: Array(50).fill(50),
  metadata: { filename: "large.bin", filetype: "application/octet-stream", protect: "tsa" },
  onShouldRetry: () => { retries += 1; return true; },
  onError: (error) => { console.error(String(error)); process.exit(1); },
  onSuccess: () => console.log(JSON.stringify({ url: upload.url, retries })),
});
upload.start();
