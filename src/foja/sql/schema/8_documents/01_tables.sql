-- Documents. What happened is in the events, and nowhere else; beside them stands what the guards and the sweeper
-- have to know at once. Every refusal and every deadline is decided from it, so it is written with the event, under
-- the lock of its stream; `foja audit` compares it with the events, and `foja status --rebuild` makes it again.

-- What this installation can produce; nothing else may be asked for. Nothing is ever simulated.
create table foja.ability (
    evidence text primary key check (evidence in ('tsa', 'polygon', 'bitcoin', 'rekor', 'artifact'))
);

insert into foja.ability values ('tsa'), ('artifact');

create table foja.document (
    entity_id uuid primary key,
    tenant text not null,
    added_seq bigint,                -- where its name is, until it is erased
    witness_hash text,               -- of the last request, or else of what was added
    stage text,                      -- of the last request; without a word it is final
    required_evidence text[],        -- of the last request
    requested_seq bigint,
    finalized boolean not null default false,
    renew_before timestamptz,        -- when the certificates of its artifact's newest seal begin to end
    closed text,                     -- revoked or archived
    predecessor uuid                 -- the document that this one is a new version of
) with (fillfactor = 70);

create index artifact_due on foja.document (renew_before) where finalized;
create index document_successors on foja.document (predecessor) where predecessor is not null;
create index document_versions on foja.document (witness_hash) where predecessor is not null;

-- Every attempt ever asked for: open until its ending. A document has one artifact, whatever the witness.
create table foja.attempt (
    entity_id uuid not null,
    evidence text not null,
    witness_hash text not null,
    attempt integer not null,
    asked_seq bigint not null,       -- of the event that asked; the job's key carries it
    deadline timestamptz not null,
    state text not null default 'open',  -- open | failed | superseded | confirmed | reorged
    tenant text not null,
    primary key (entity_id, evidence, witness_hash, attempt)
);

create index attempt_due on foja.attempt (deadline, evidence) where state = 'open';
create index attempt_failed on foja.attempt (tenant, entity_id) where state in ('failed', 'reorged');

-- What lists show, as of the first `length` events. Written by the executor, made again by replay.
create table foja.document_summary (
    entity_id uuid primary key,
    tenant text not null,
    state text not null,
    pipeline text,
    lifecycle_status text not null,
    witness_hash text,
    length bigint not null,
    began_at timestamptz not null
) with (fillfactor = 70);

create index document_list on foja.document_summary (tenant, began_at, entity_id);

update foja.domain set guard = 'track_document' where domain = 'document';
