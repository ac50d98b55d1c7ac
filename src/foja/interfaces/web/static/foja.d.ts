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
/** One image of a gallery at its place. */
export interface ImageView {
  id: string;
  order: number;
  main: boolean;
  url: string;
  alt: string | null;
  created_at: string;
  erased: boolean;
  media_type: string | null;
  width: number | null;
  height: number | null;
  frames: number | null;
  size: number | null;
  name: string | null;
  variants: { [name: string]: string };
}
/** How many images are rendered again. */
export interface RenderedCount {
  images: number;
}
/** How far the variants of an image are: `queued`, `processing`, `success` or `error`. */
export interface RenderState {
  status: string;
  attempts: number;
  last_error: string | null;
  duration_ms: number | null;
  error_code: string | null;
  skipped: string | null;
  spent: boolean;
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
/** A type of which jobs are ready, and that no running worker does. */
export interface WaitingType {
  type: string;
  jobs: number;
  ready_at: string;
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
/** A network as it stands. Amounts are in its smallest unit. */
export interface NetworkView {
  configured: boolean;
  missing: Array<string>;
  network: string;
  enabled: boolean;
  held: string | null;
  held_at: string | null;
  waiting: number;
  pending: number;
  spent: string;
}
/** A batch as it stands. */
export interface BatchView {
  id: string;
  network: string;
  status: string;
  size: number;
  root: string;
  account: string | null;
  nonce: number | null;
  max_fee: string;
  fee: string | null;
  created_at: string;
  confirmed_at: string | null;
  next_look: string | null;
  detail: string | null;
  told: number;
  outcome: any;
  trust: Array<string>;
  state: any;
}
/** What the batches of one network cost on one day (UTC), in its smallest unit. */
export interface CostView {
  network: string;
  day: string;
  batches: number;
  digests: number;
  fee: string;
  open_fee: string;
}
/** Whether documents may require a network, what is missing, and what was found there. */
export interface Enabled {
  network: string;
  enabled: boolean;
  missing: Array<string>;
  found: Payload;
}
/** That documents may not require a network any more. */
export interface Disabled {
  network: string;
  enabled: boolean;
  missing: Array<string>;
  found: Payload;
  changed: boolean;
}
/** How many digests waited for others. */
export interface Flushed {
  network: string;
  jobs: number;
}
/** An alert whose condition is true. */
export interface AlertState {
  alert: string;
  label: string;
  value: number;
  since: string;
  fired_at: string | null;
}
/** An alert as it stands. */
export interface ShownAlert {
  alert: string;
  severity: "critical" | "warning";
  state: string;
  summary: string;
  limit: number | null;
  below: boolean;
  for_seconds: number;
  values: { [name: string]: number };
  series: Array<AlertState>;
  runbook: string;
}
/** A notice as it was told. */
export interface ToldNotice {
  id: string;
  alert: string;
  label: string;
  event: string;
  value: number | null;
  at: string;
  undelivered: Array<string>;
  error: string | null;
}
/** A run that ended, as it was recorded. */
export interface RunRow {
  run: string;
  action: string;
  outcome: string;
  started_at: string;
  ended_at: string;
  detail: string | null;
  checked: number;
  candidates: number;
  staged: number;
  strays: number;
  missing: number;
  rescued: number;
  rescued_late: number;
  false_positives: number;
  quarantined: number;
  deleted: number;
  bytes: number;
}
/** An object that nothing refers to and that is not purged. */
export interface Candidate {
  path: string;
  detected_at: string;
  last_seen_reference: string | null;
  size: number | null;
  state: string;
}
/** The state of orphans in the store, and the candidates, oldest first. */
export interface CleanupReport {
  total_staged: number;
  lt_1d: number;
  d1_3: number;
  d3_7: number;
  gte_7d: number;
  staged: number;
  rescued: number;
  false_positives: number;
  deleted: number;
  bytes: number;
  rescued_ratio: number;
  false_positive_ratio: number;
  unstaged_ratio: number;
  armed: boolean;
  armed_days: number;
  needed_days: number;
  brake: string | null;
  objects: number;
  due: number;
  quarantined: number;
  last_scan: string | null;
  runs: Array<RunRow>;
  candidates: Array<Candidate>;
}
/** What a run did, or would do. Fields that the other action counts stay 0. */
export interface RunResult {
  run: string;
  action: "scan" | "purge";
  started_at: string;
  dry: boolean;
  outcome: "complete" | "aborted";
  detail: string | null;
  checked: number;
  staged: number;
  strays: number;
  missing: number;
  quarantined: number;
  unstaged: number;
  deleted: number;
  bytes: number;
  missing_objects: Array<string>;
}
/** The keys of what was deleted. */
export interface DeletedObjects {
  deleted: Array<string>;
}
/** The key of an object that is live again. */
export interface RestoredObject {
  restored: string;
}
/** How much failed work was started again. */
export interface Retried {
  evidence: number;
  images: number;
  jobs: number;
}
/** A webhook with its secret, which is not shown again. */
export interface CreatedWebhook {
  id: string;
  url: string;
  kinds: Array<string>;
  include_payload: boolean;
  description: string;
  state: "on" | "off";
  off_reason: string | null;
  failures: number;
  failing_since: string | null;
  created_at: string;
  waiting: number;
  behind: number;
  secret: string;
}
/** A webhook as it stands. */
export interface Webhook {
  id: string;
  url: string;
  kinds: Array<string>;
  include_payload: boolean;
  description: string;
  state: "on" | "off";
  off_reason: string | null;
  failures: number;
  failing_since: string | null;
  created_at: string;
  waiting: number;
  behind: number;
}
/** A webhook that was removed. */
export interface RemovedWebhook {
  id: string;
  removed: boolean;
}
/** A delivery as it stands, with its last attempt. */
export interface DeliveryView {
  id: number;
  entity_id: string;
  seq: number;
  kind: string;
  state: "waiting" | "delivered" | "failed";
  attempts: number;
  created_at: string;
  ended_at: string | null;
  status: number | null;
  error: string | null;
}
/** One attempt to deliver. */
export interface AttemptView {
  at: string;
  status: number | null;
  error: string | null;
  seconds: number;
}
/** A delivery with all its attempts, oldest first. */
export interface DeliveryWithAttempts {
  id: number;
  entity_id: string;
  seq: number;
  kind: string;
  state: "waiting" | "delivered" | "failed";
  attempts: number;
  created_at: string;
  ended_at: string | null;
  status: number | null;
  error: string | null;
  log: Array<AttemptView>;
}
/** How many deliveries are sent again. */
export interface Replayed {
  replayed: number;
}
/** The newest published checkpoint of the log. */
export interface LogHead {
  origin: string;
  size: number;
  root: string;
  key: string;
  checkpoint: string;
}
/** A checkpoint that a network confirmed. */
export interface Anchored {
  log: string;
  origin: number | null;
  size: number;
  network: string;
  sha256: string;
  batch: string;
  confirmed_at: string;
  confirmed: boolean;
  note: string | null;
  proof: string | null;
  trust: Array<string>;
}
/** Who sends this request. */
export interface Me {
  actor: string;
  name: string | null;
  tenant: string;
  scopes: Array<string>;
  installation: boolean;
  credential: string;
}
/** The names of actors, by actor. Those without a name are left out. */
export interface NameList {
  names: { [name: string]: string };
}
/** A key as an administrator sees it; its secret was shown once. */
export interface KeyView {
  id: string;
  tenant: string;
  name: string;
  scopes: Array<string>;
  installation: boolean;
  created_at: string;
  created_by: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}
/** A new key with its text, and what it may do. */
export interface CreatedKey {
  id: string;
  key: string;
  tenant: string;
  scopes: Array<string>;
  installation: boolean;
  expires_at: string | null;
}
/** What was revoked. */
export interface Revoked {
  id: string;
  revoked: boolean;
}
/** A key with its new text. */
export interface RotatedKey {
  id: string;
  key: string;
  overlap_until: string;
}
/** A session that is not over. */
export interface SessionView {
  id: string;
  tenant: string;
  actor: string;
  scopes: Array<string>;
  installation: boolean;
  key_id: string | null;
  created_at: string;
  seen_at: string;
  ends_at: string;
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
  emit(kind: string, payload: Payload, options?: { turn?: string | number | null; blockIndex?: number | null; eventIndex?: number | null; v?: number }): Promise<Transient>;
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
  erase(seq: number, reason: string): Promise<ErasedEvent>;
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

declare class ImagesActs {
  products(options?: { after?: string | null; limit?: number }): Promise<StreamId[]>;
  list(productId: string, options?: { at?: number | null }): Promise<ImageView[]>;
  image(productId: string, imageId: string): Promise<ImageView>;
  move(productId: string, imageId: string, to: number, options?: { expectedSeq?: number | null; idempotencyKey?: string | null }): Promise<ImageView>;
  describe(productId: string, imageId: string, alt: string, options?: { expectedSeq?: number | null; idempotencyKey?: string | null }): Promise<ImageView>;
  remove(productId: string, imageId: string, options?: { reason?: string; expectedSeq?: number | null }): Promise<Event>;
  protect(productId: string, requiredEvidence?: string | Array<string>, options?: { idempotencyKey?: string | null }): Promise<AddedDocument>;
  renderFailed(productId: string, options?: { force?: boolean }): Promise<RenderedCount>;
  render(productId: string, imageId: string, options?: { force?: boolean }): Promise<RenderedCount>;
  rendering(productId: string, imageId: string): Promise<RenderState>;
}

declare class JobsActs {
  list(options?: { state?: "queued" | "running" | "succeeded" | "retry_scheduled" | "dead" | "cancelled" | null; type?: string | null; entityId?: string | null; before?: number | null; limit?: number }): Promise<JobView[]>;
  show(jobId: number): Promise<JobView>;
  unhandled(): Promise<WaitingType[]>;
  enqueue(type: string, entityId: string, options?: { key?: string | null; payload?: Payload | null; delay?: number; priority?: number; idempotencyKey?: string | null }): Promise<EnqueuedJob>;
  retry(ids?: number | Array<number> | null, options?: { state?: "queued" | "running" | "succeeded" | "retry_scheduled" | "dead" | "cancelled" | null; type?: string | null; entityId?: string | null }): Promise<ChangedJobs>;
  cancel(ids?: number | Array<number> | null, options?: { state?: "queued" | "running" | "succeeded" | "retry_scheduled" | "dead" | "cancelled" | null; type?: string | null; entityId?: string | null }): Promise<ChangedJobs>;
  pause(jobType: string): Promise<PausedType>;
  resume(jobType: string): Promise<PausedType>;
}

declare class AnchorsActs {
  overview(): Promise<NetworkView[]>;
  list(options?: { network?: "polygon" | "bitcoin" | "rekor" | null; status?: "drafted" | "sent" | "confirmed" | "reorged" | "refused" | null; before?: string | null; limit?: number }): Promise<BatchView[]>;
  show(batchId: string): Promise<BatchView>;
  cost(options?: { network?: "polygon" | "bitcoin" | "rekor" | null; days?: number }): Promise<CostView[]>;
  enable(network: "polygon" | "bitcoin" | "rekor"): Promise<Enabled>;
  disable(network: "polygon" | "bitcoin" | "rekor"): Promise<Disabled>;
  flush(network: "polygon" | "bitcoin" | "rekor"): Promise<Flushed>;
}

declare class AlertsActs {
  list(options?: { firing?: boolean }): Promise<ShownAlert[]>;
  history(options?: { limit?: number }): Promise<ToldNotice[]>;
}

declare class MaintenanceActs {
  report(options?: { limit?: number }): Promise<CleanupReport>;
  candidates(options?: { limit?: number }): Promise<Candidate[]>;
  cleanup(options?: { dryRun?: boolean }): Promise<RunResult>;
  purge(options?: { dryRun?: boolean; reason?: string | null }): Promise<RunResult>;
  purgeObject(sha256: string, reason: string): Promise<DeletedObjects>;
  restore(sha256: string, reason: string): Promise<RestoredObject>;
  retry(options?: { what?: Array<"documents" | "images" | "jobs"> | null; reason?: string | null; force?: boolean }): Promise<Retried>;
}

declare class WebhooksActs {
  create(url: string, options?: { kinds?: string | Array<string>; includePayload?: boolean; description?: string; secret?: string | null; fromStart?: boolean; idempotencyKey?: string | null }): Promise<CreatedWebhook>;
  list(): Promise<Webhook[]>;
  show(webhookId: string): Promise<Webhook>;
  change(webhookId: string, options?: { url?: string | null; kinds?: string | Array<string> | null; includePayload?: boolean | null; description?: string | null; state?: "on" | "off" | null; reason?: string | null }): Promise<Webhook>;
  remove(webhookId: string): Promise<RemovedWebhook>;
  rotate(webhookId: string, options?: { secret?: string | null; overlapSeconds?: number }): Promise<CreatedWebhook>;
  deliveries(webhookId: string, options?: { state?: "waiting" | "delivered" | "failed" | null; before?: number | null; limit?: number }): Promise<DeliveryView[]>;
  delivery(webhookId: string, number: number): Promise<DeliveryWithAttempts>;
  replay(webhookId: string, options?: { first?: number | null; last?: number | null; since?: string | null; until?: string | null; failed?: boolean }): Promise<Replayed>;
}

declare class LogActs {
  head(): Promise<LogHead>;
  trust(): Promise<string[]>;
  prove(entityId: string, seq: number): Promise<ProvenEvent>;
  anchored(options?: { limit?: number }): Promise<Anchored[]>;
}

declare class AccessActs {
  me(): Promise<Me>;
  names(actor: Array<string>): Promise<NameList>;
  keys(options?: { tenant?: string | null; limit?: number }): Promise<KeyView[]>;
  createKey(scopes?: string | Array<string>, options?: { name?: string; tenant?: string | null; installation?: boolean; expiresAt?: string | null; idempotencyKey?: string | null }): Promise<CreatedKey>;
  revokeKey(keyId: string): Promise<Revoked>;
  rotateKey(keyId: string, options?: { overlapSeconds?: number }): Promise<RotatedKey>;
  sessions(options?: { tenant?: string | null; limit?: number }): Promise<SessionView[]>;
  revokeSession(sessionId: string): Promise<Revoked>;
}

// End of what `make generate` writes.

export type Job = JobView;
export type Image = ImageView;

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
  readonly images: Omit<ImagesActs, "protect"> & {
    add(
      productId: string,
      data: Data,
      options?: { name?: string | null; alt?: string | null; supplierId?: string | null; idempotencyKey?: string },
    ): Promise<Image>;
    protect(productId: string, requiredEvidence?: Evidence[]): Promise<Document>;
  };
  readonly jobs: JobsActs;
  readonly anchors: AnchorsActs;
  readonly alerts: AlertsActs;
  readonly maintenance: MaintenanceActs;
  readonly webhooks: WebhooksActs;
  readonly access: AccessActs;
  readonly log: LogActs;
  stream(domain: string, id?: string): Stream;
  verify(
    data: Data,
    options?: { trust?: string[]; proofs?: Data[]; at?: Date | string | null; ownTrust?: boolean },
  ): Promise<Report>;
}
