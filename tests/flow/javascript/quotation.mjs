// Reads texts from standard input and prints each as a quotation.
import { readFileSync } from "node:fs";

const { quoted } = await import(new URL("quotation.js", process.argv[2]));

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((text) => quoted(text))));
