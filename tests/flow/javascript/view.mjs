// Reads conversations from standard input, each a list of batches, and prints the view after each batch.
import { readFileSync } from "node:fs";

const { View, reduce } = await import(process.argv[2]);

function views(batches) {
  let view = new View();
  return batches.map((batch) => {
    view = batch.length === 1 ? reduce(view, batch[0]) : view.addAll(batch);
    return { items: view.items(), groups: view.groups(), settled: view.settled };
  });
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(views)));
