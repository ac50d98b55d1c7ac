// The real @ag-ui/client reads connections that were cut and joined again.
//
// stdin: [[connection, ...], ...], a connection being the server-sent events of one response.
// stdout: for each chain, the messages and state its agent ends with, or its error.
import { AbstractAgent, transformHttpEventStream, verifyEvents } from "@ag-ui/client";
import { asyncScheduler, scheduled } from "rxjs";

function response(text) {
  const headers = new Headers({ "content-type": "text/event-stream" });
  const data = new TextEncoder().encode(text);
  const pieces = [
    { type: "headers", status: 200, headers },
    { type: "data", data },
  ];
  return scheduled(pieces, asyncScheduler); // only after a subscription
}

class Replayed extends AbstractAgent {
  run() {
    return transformHttpEventStream(response(this.text)).pipe(verifyEvents());
  }
}

async function replay(chain) {
  const agent = new Replayed({ threadId: "thread" });
  agent.text = "";
  for (const text of chain) {
    agent.text = text;
    try {
      await agent.runAgent({ runId: "run" });
    } catch (error) {
      return { error: String(error), text };
    }
  }
  return { messages: agent.messages, state: agent.state };
}

console.warn = () => {};
console.error = () => {};
let input = "";
for await (const piece of process.stdin) input += piece;
const results = [];
for (const chain of JSON.parse(input)) results.push(await replay(chain));
process.stdout.write(JSON.stringify(results));
