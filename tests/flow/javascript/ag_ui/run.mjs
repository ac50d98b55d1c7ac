// The real HttpAgent asks a conversation, twice.
//
// arguments: the address. stdin: the questions. stdout: the messages after each run.
import { HttpAgent } from "@ag-ui/client";

let input = "";
for await (const piece of process.stdin) input += piece;
const agent = new HttpAgent({ url: process.argv[2], threadId: "thread" });
const after = [];
for (const [n, content] of JSON.parse(input).entries()) {
  agent.addMessage({ id: `question-${n}`, role: "user", content });
  await agent.runAgent({ runId: `run-${n}` });
  after.push(structuredClone(agent.messages));
}
process.stdout.write(JSON.stringify(after));
