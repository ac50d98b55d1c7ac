// What a user of the JavaScript client does, in Node and in a browser; returns what was seen as JSON.

export async function story(foja, url) {
  const client = foja.connect(url);
  const talk = client.conversations.open();
  const seen = { id: talk.id };
  const said = { content: "0" };
  const first = await talk.append("user_message_sent", said, { idempotencyKey: "k", actor: "ana" });
  const again = await talk.append("user_message_sent", said, { idempotencyKey: "k", actor: "ana" });
  seen.first = [first.seq, first.replayed, first.actor, again.seq, again.replayed, first.id === again.id];
  const slots = await talk.reserve(2, { ttl: 60 });
  await talk.fill(slots.token, slots.seqs[1], "user_message_sent", { content: "2" });
  seen.hole = (await talk.events()).map((each) => each.kind);
  await talk.void(slots.token, slots.seqs[0], "denied");
  const refusals = [
    () => talk.append("nonsense", {}),
    () => talk.append("user_message_sent", said, { expectedSeq: 0 }),
    () => talk.append("user_message_sent", { content: "other" }, { idempotencyKey: "k" }),
    () => talk.events({ after: "x:1" }),
    () => client.conversations.open("no-id").state(),
  ];
  seen.refused = [];
  for (const refusal of refusals) {
    const error = await refusal().then(() => null, (thrown) => thrown);
    seen.refused.push([error instanceof foja.FojaError, error.name, error.code, error.status, error.retryable]);
  }
  const approval = await talk.requestApproval("refund", { amount: 1 }, { approvalId: "a/1" });
  const decided = await talk.decide("a/1", "denied", { actor: "bob" });
  seen.approval = [approval.state, decided.state, decided.mine, (await talk.approvals()).length];
  seen.listed = (await client.conversations.list({ limit: 5 })).includes(talk.id);
  seen.pages = (await talk.events({ limit: 2 })).map((each) => each.seq);
  const stop = new AbortController();
  let view = new foja.View();
  seen.followed = [];
  for await (const item of talk.follow({ signal: stop.signal })) {
    view = view.add(item);
    seen.followed.push(item.seq);
    if (item.seq >= 24) break;
    if (item.seq >= 4) await talk.append("agent_message_sent", { content: `after ${item.seq}` });
  }
  seen.shown = view.items().length;
  stop.abort();
  return seen;
}
