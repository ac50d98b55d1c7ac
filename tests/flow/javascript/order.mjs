// Reads lists of items from standard input, one JSON document, and prints each one in reading order.
import { readFileSync } from "node:fs";

const { order } = await import(process.argv[2]);
const lists = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(lists.map((items) => order(items))));
