/** Types of `foja.js`: a client of Foja's HTTP API, and the reading order and view of a conversation. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Payload = { [name: string]: Json };

/** A persisted event; an open slot has no id, no time and no source. */
export interface Event {
  seq: number;
  id: string | null;
  kind: string;
  at: string | null;
  v: number;
  actor: string | null;
  entity_id: string;
  correlation_id: string;
  _source: string | null;
  /** Null after an erasure. */
  payload: Payload | null;
  /** Where a reader continues; null above a hole. */
  cursor: string | null;
}

/** An event that was just appended; `replayed`: it was recorded before. */
export type Appended = Event & { replayed: boolean };

/** A transient event: shown live, never stored. */
export interface Transient {
  seq: null;
  id: string;
  kind: string;
  at: string;
  v: number;
  entity_id: string;
  turn: string | number | null;
  block_index: number | null;
  event_index: number | null;
  payload: Payload;
  cursor: null;
}

/** Everything comes again: forget what you have. */
export interface Reset {
  seq: null;
  kind: "reset";
  reason: string;
  cursor: null;
}

export type StreamItem = Event | Transient | Reset;

/** Anything with the fields of an event; what is missing counts as absent. */
export type Item = { [name: string]: any };

/** Return these items in reading order. The order of the input does not matter. */
export function order<Given extends Item>(items: Iterable<Given>): Given[];

/** What a page shows of a conversation. Immutable: adding items returns a new view. */
export class View {
  constructor(items?: Iterable<Item>);
  add(...items: Item[]): View;
  addAll(items: Iterable<Item>): View;
  /** True if no transient event is left. */
  readonly settled: boolean;
  items(): Item[];
  groups(): Item[][];
}

/** Return the view after one more item. */
export function reduce(view: View, item: Item): View;

/** A refusal or a failure. */
export class FojaError extends Error {
  /** The stable code of the error; null if another server answered. */
  readonly code: string | null;
  /** 0 if there was no answer. */
  readonly status: number;
  readonly retryable: boolean;
  readonly retryAfter: number | null;
}

export interface Options {
  /** An API key. */
  key?: string;
  /** How long what is retryable is tried again, in milliseconds. */
  retryMs?: number;
  fetch?: typeof globalThis.fetch;
}

/** Return a client of a server; in a page of the server itself, the address may be left out. */
export function connect(url?: string, options?: Options): Client;

export type Data = string | Blob | ArrayBuffer | ArrayBufferView;
export type Evidence = "tsa" | "polygon" | "bitcoin" | "rekor";
export type Verdict = "TOTAL_PASSED" | "INDETERMINATE" | "TOTAL_FAILED";

export interface AppendOptions {
  idempotencyKey?: string;
  expectedSeq?: number | null;
  actor?: string | null;
  v?: number;
}

/** The events of one stream of the server, read and followed. */
declare class History {
  readonly id: string;
  events(options?: { after?: string | number | null; limit?: number }): Promise<Event[]>;
  follow(options?: { after?: string | number | null; signal?: AbortSignal }): AsyncGenerator<StreamItem>;
  prove(seq: number): Promise<ProvenEvent>;
}

export type EventProof = ProvenEvent;

export class Stream extends StreamActs {}

export class Conversation extends ConversationActs {}

export type DocumentView = ShownDocument;

export class Document extends DocumentActs {
  /** Of a document that was just added. */
  readonly sha256?: string | null;
  readonly name?: string | null;
  readonly size?: number | null;
  readonly custody?: "stored" | "hash_only" | null;
  readonly new?: boolean;
  bundle(options?: { withDocument?: boolean }): Promise<Uint8Array>;
}

export interface Image {
  id: string;
  order: number;
  main: boolean;
  url: string;
  alt: string | null;
  created_at: string;
  variants: { [name: string]: string };
  [more: string]: any;
}

export interface Report {
  form: "foja/report/v1";
  verdict: Verdict;
  at: string;
  headline: string[];
  evidence: Payload[];
  [more: string]: any;
}

// Written by `make generate`; do not edit. Begin.

/** A conversation, with its first event if the request had one. */
export interface OpenedConversation {
  id: string;
  event: Event | null;
}
/** A stream in a list. */
export interface StreamId {
  id: string;
}
/** How far a stream is. */
export interface StreamState {
  id: string;
  next_seq: number;
  sealed: number;
  gaps: number;
}
/** Why a request was refused, and what to do next (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  error: string | null;
  code: string | null;
}
/** The result for one event of a batch: its event, or why there is none. */
export interface BatchResult {
  event: Event | null;
  new: boolean;
  problem: Problem | null;
}
/** The result for each event of a batch, in its order. */
export interface BatchAnswer {
  appended: number;
  results: Array<BatchResult>;
}
/** An event and the proof that the log has it, as the texts of their files. */
export interface ProvenEvent {
  proof: string;
  event: string;
  arguments: string | null;
  index: number;
  size: number;
  key: string;
}
/** An event whose body was erased. */
export interface ErasedEvent {
  seq: number;
  erased: boolean;
}
/** A document, and whether this request added it. */
export interface AddedDocument {
  id: string;
  sha256: string | null;
  name: string | null;
  size: number | null;
  custody: "stored" | "hash_only" | null;
  new: boolean;
}
/** Reserved numbers, and the token that fills them. */
export interface Reservation {
  token: string;
  seqs: Array<number>;
  deadline: string;
}
/** The new deadline of the slots that are still open. */
export interface Deadline {
  deadline: string;
}
/** A number that was voided. */
export interface VoidedSlot {
  seq: number;
  voided: boolean;
}
/** A requested approval and its state.

    `decided_seq` is None until an event records the decision. This also holds for an
    expired approval whose expiry is not recorded yet. */
export interface Approval {
  id: string;
  tool_name: string;
  tool_args: Payload;
  tool_use_id: string | null;
  expires_at: string | null;
  requested_seq: number;
  state: string;
  reason: string | null;
  decided_by: string | null;
  decided_seq: number | null;
  policy: string | null;
}
/** An approval with the decision that counts. */
export interface DecidedApproval {
  id: string;
  tool_name: string;
  tool_args: Payload;
  tool_use_id: string | null;
  expires_at: string | null;
  requested_seq: number;
  state: string;
  reason: string | null;
  decided_by: string | null;
  decided_seq: number | null;
  policy: string | null;
  mine: boolean;
}
/** How far a stream of a domain is. */
export interface DomainStreamState {
  id: string;
  next_seq: number;
  sealed: number;
  gaps: number;
  domain: string;
}
/** One row of the list of documents. */
export interface DocumentRow {
  id: string;
  name: string | null;
  state: string;
  pipeline: string | null;
  lifecycle: string;
  witness_hash: string | null;
  began_at: string;
  given_up: boolean;
  note: string | null;
}
/** The result for one digest of a batch: its document, or why there is none. */
export interface BatchedDocument {
  document: AddedDocument | null;
  problem: Problem | null;
}
/** The result for each digest of a batch, in its order. */
export interface AddedBatch {
  added: number;
  results: Array<BatchedDocument>;
}
/** One evidence for one witness: its status, since when, until when, and why. */
export interface EvidenceView {
  evidence: "tsa" | "polygon" | "bitcoin" | "rekor" | "artifact";
  witness_hash: string;
  status: "waiting" | "requested" | "scheduled" | "open" | "recorded" | "confirmed" | "failed" | "given_up" | "not_installed" | "superseded";
  since: string | null;
  attempt: number;
  attempts_left: number;
  run_at: string | null;
  deadline: string | null;
  failure_code: string | null;
  reason: string | null;
  confirmed_at: string | null;
  local: boolean;
  test_network: string | null;
}
/** One signature: what was recorded, and what its check shows. */
export interface SignatureView {
  seq: number;
  at: string | null;
  witness_hash: string | null;
  format: string;
  status: "checked" | "unchecked" | "invalid";
  signer: string | null;
  claimed_signer: string | null;
  reason: string | null;
  detail: string;
}
/** One line of the timeline, in the order of the ledger. */
export interface Moment {
  seq: number;
  at: string | null;
  kind: string;
  words: string;
}
/** A document, computed from its events, as every door shows it. */
export interface ShownDocument {
  id: string;
  name: string | null;
  predecessor: string | null;
  successors: Array<string>;
  witness_hash: string | null;
  state: "none" | "protected" | "reinforced" | "final";
  pipeline: "awaiting_tsa" | "awaiting_anchors" | "awaiting_artifact" | null;
  lifecycle_status: "protected" | "needs_witness" | "witness_ready" | "in_signature_flow" | "signed" | "anchored" | "revoked" | "archived";
  stage: "initial" | "intermediate" | "final" | null;
  required_evidence: Array<"tsa" | "polygon" | "bitcoin" | "rekor" | "artifact">;
  evidence: Array<EvidenceView>;
  signatures: Array<SignatureView>;
  timeline: Array<Moment>;
  explain: string;
  note: string | null;
}
/** What an erasure of `document.added` did not remove; each sentence says what and why. */
export interface Erasure {
  stays: Array<string>;
}
/** A proof in its tool's own format. */
export interface ProofFile {
  name: string;
  content: string;
}
/** The proofs of a document's current digest. */
export interface ProofList {
  witness_hash: string | null;
  proofs: Array<ProofFile>;
}
/** A job as it stands. */
export interface JobView {
  id: number;
  type: string;
  state: "queued" | "running" | "succeeded" | "retry_scheduled" | "dead" | "cancelled";
  entity_id: string;
  correlation_id: string;
  tenant: string;
  key: string;
  priority: number;
  tries: number;
  max_tries: number;
  first: boolean;
  run_at: string;
  created_at: string;
  finished_at: string | null;
  worker: string | null;
  lease_until: string | null;
  last_error: string | null;
  payload: any;
  on_death: any;
}
/** A queued job, and whether it is new; a type, a stream and a key make one job, for ever. */
export interface EnqueuedJob {
  type: string;
  entity_id: string;
  key: string;
  new: boolean;
}
/** How many jobs were asked for, and how many were changed; the others are running or over. */
export interface ChangedJobs {
  asked: number;
  done: number;
}
/** Whether jobs of a type are claimed. */
export interface PausedType {
  type: string;
  paused: boolean;
}
/** The first event of a conversation. */
export interface FirstEvent {
  kind: string;
  payload: Payload;
  actor?: string | null;
  v?: number;
}
/** An event of a batch; its key makes it idempotent by itself. */
export interface BatchEvent {
  kind: string;
  payload: Payload;
  actor?: string | null;
  v?: number;
  expected_seq?: number | null;
  idempotency_key?: string | null;
}
/** A document by its SHA-256 digest; its bytes stay with you. */
export interface Digest {
  sha256: string;
  name?: string | null;
  size?: number | null;
  media_type?: string | null;
  predecessor?: string | null;
}

declare class ConversationsActs {
  create(options?: { id?: string | null; event?: FirstEvent | null; idempotencyKey?: string | null }): Promise<OpenedConversation>;
  list(options?: { before?: string | null; limit?: number }): Promise<StreamId[]>;
}

declare class ConversationActs extends History {
  state(): Promise<StreamState>;
  append(kind: string, payload: Payload, options?: { expectedSeq?: number | null; actor?: string | null; v?: number; idempotencyKey?: string | null }): Promise<Appended>;
  appendMany(events: Array<BatchEvent>, options?: { atomic?: boolean; idempotencyKey?: string | null }): Promise<BatchAnswer>;
  prove(seq: number): Promise<ProvenEvent>;
  erase(seq: number, reason: string): Promise<ErasedEvent>;
  protect(requiredEvidence?: string | Array<string>, options?: { idempotencyKey?: string | null }): Promise<AddedDocument>;
  reserve(count: number, options?: { ttl?: number; intents?: Array<any> | null; idempotencyKey?: string | null }): Promise<Reservation>;
  extend(token: string, ttl: number): Promise<Deadline>;
  fill(token: string, seq: string, kind: string, payload: Payload, options?: { actor?: string | null; v?: number; idempotencyKey?: string | null }): Promise<Appended>;
  void(token: string, seq: string, reason: string): Promise<VoidedSlot>;
  emit(kind: string, payload: Payload, options?: { turn?: string | number | null; blockIndex?: number | null; eventIndex?: number | null }): Promise<Transient>;
  requestApproval(toolName: string, toolArgs: Payload, options?: { ttl?: number; approvalId?: string | null; toolUseId?: string | null; policy?: string | null; turn?: string | number | null; blockIndex?: number | null; actor?: string | null; idempotencyKey?: string | null }): Promise<Approval>;
  approvals(): Promise<Approval[]>;
  approval(approvalId: string): Promise<Approval>;
  decide(approvalId: string, decision: string, options?: { reason?: string | null; actor?: string | null }): Promise<DecidedApproval>;
}

declare class StreamsActs {
  domains(): Promise<Payload[]>;
  list(domain: string, options?: { before?: string | null; limit?: number }): Promise<StreamId[]>;
}

declare class StreamActs extends History {
  state(): Promise<DomainStreamState>;
  append(kind: string, payload: Payload, options?: { expectedSeq?: number | null; actor?: string | null; v?: number; idempotencyKey?: string | null }): Promise<Appended>;
  appendMany(events: Array<BatchEvent>, options?: { atomic?: boolean; idempotencyKey?: string | null }): Promise<BatchAnswer>;
  prove(seq: number): Promise<ProvenEvent>;
  protect(requiredEvidence?: string | Array<string>, options?: { idempotencyKey?: string | null }): Promise<AddedDocument>;
}

declare class DocumentsActs {
  list(options?: { state?: "none" | "protected" | "reinforced" | "final" | "given_up" | null; before?: string | null; limit?: number }): Promise<DocumentRow[]>;
  addMany(documents: Array<Digest>, options?: { requiredEvidence?: Array<string> | null; idempotencyKey?: string | null }): Promise<AddedBatch>;
}

declare class DocumentActs extends History {
  view(): Promise<ShownDocument>;
  protect(requiredEvidence?: string | Array<string>, options?: { stage?: string | null; witnessHash?: string | null; idempotencyKey?: string | null }): Promise<Appended>;
  record(kind: string, payload?: Payload | null, options?: { idempotencyKey?: string | null }): Promise<Appended>;
  sign(signature?: string | null, options?: { witnessHash?: string | null; format?: "cms" | "jws" | "raw" | "unchecked" | null; key?: string | null; certificate?: string | null; signer?: string | null; reason?: string | null; idempotencyKey?: string | null }): Promise<Appended>;
  revoke(reason: string, options?: { idempotencyKey?: string | null }): Promise<Appended>;
  archive(reason: string, options?: { idempotencyKey?: string | null }): Promise<Appended>;
  retry(evidence?: "tsa" | "polygon" | "bitcoin" | "rekor" | "artifact", options?: { reason?: string | null; idempotencyKey?: string | null }): Promise<Appended>;
  erase(reason: string): Promise<Erasure>;
  prove(seq: number): Promise<ProvenEvent>;
  trust(): Promise<string[]>;
  proofs(): Promise<ProofList>;
}

declare class JobsActs {
  list(options?: { state?: "queued" | "running" | "succeeded" | "retry_scheduled" | "dead" | "cancelled" | null; type?: string | null; entityId?: string | null; before?: number | null; limit?: number }): Promise<JobView[]>;
  show(jobId: number): Promise<JobView>;
  enqueue(type: string, entityId: string, options?: { key?: string | null; payload?: Payload | null; delay?: number; priority?: number; idempotencyKey?: string | null }): Promise<EnqueuedJob>;
  retry(ids?: number | Array<number> | null, options?: { state?: "queued" | "running" | "succeeded" | "retry_scheduled" | "dead" | "cancelled" | null; type?: string | null; entityId?: string | null }): Promise<ChangedJobs>;
  cancel(ids?: number | Array<number> | null, options?: { state?: "queued" | "running" | "succeeded" | "retry_scheduled" | "dead" | "cancelled" | null; type?: string | null; entityId?: string | null }): Promise<ChangedJobs>;
  pause(jobType: string): Promise<PausedType>;
  resume(jobType: string): Promise<PausedType>;
}

// End of what `make generate` writes.

export type Job = JobView;

export class Client {
  readonly conversations: {
    open(id?: string): Conversation;
    list(options?: { before?: string | null; limit?: number }): Promise<string[]>;
    protect(id: string, requiredEvidence?: Evidence[]): Promise<Document>;
  };
  readonly documents: DocumentsActs & {
    add(
      data: Data,
      options?: { name?: string | null; mediaType?: string | null; predecessor?: string | null },
    ): Promise<Document>;
    addDigest(
      sha256: string,
      options?: { name?: string | null; size?: number | null; mediaType?: string | null },
    ): Promise<Document>;
    open(id: string): Document;
    protect(id: string, requiredEvidence?: Evidence[]): Promise<Event>;
    view(id: string): Promise<DocumentView>;
    bundle(id: string, options?: { withDocument?: boolean }): Promise<Uint8Array>;
  };
  readonly images: {
    add(
      productId: string,
      data: Data,
      options?: { name?: string | null; alt?: string | null; supplierId?: string | null; idempotencyKey?: string },
    ): Promise<Image>;
    list(productId: string): Promise<Image[]>;
    move(productId: string, imageId: string, to: number, options?: { expectedSeq?: number | null }): Promise<Image>;
    describe(productId: string, imageId: string, alt: string): Promise<Image>;
    remove(productId: string, imageId: string, options?: { reason?: string }): Promise<Event>;
    protect(productId: string, requiredEvidence?: Evidence[]): Promise<Document>;
  };
  readonly jobs: JobsActs;
  stream(domain: string, id?: string): Stream;
  verify(
    data: Data,
    options?: { trust?: string[]; proofs?: Data[]; at?: Date | string | null; ownTrust?: boolean },
  ): Promise<Report>;
}
