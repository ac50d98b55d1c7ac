-- Documents. The events are the only truth. These tables hold the state that the guards and the sweeper read: they
-- are written in the transaction of the event, under the lock of its stream. `foja audit` compares them with the
-- events, and `foja rebuild` writes them again from the events.

-- What this installation can produce; nothing else can be required. Nothing is simulated.
create table foja.ability (
    evidence text primary key check (evidence in ('tsa', 'polygon', 'bitcoin', 'rekor', 'artifact'))
);

insert into foja.ability values ('tsa'), ('artifact');

create table foja.document (
    entity_id uuid primary key,
    tenant text not null,
    added_seq bigint,                -- the number of `document.added`, which holds the name
    witness_hash text,               -- of the last request, else of what was added
    witness_status text not null default 'missing',  -- missing | required | ready; required holds everything back
    stage text,                      -- of the last request; null is final
    required_evidence text[],        -- of the last request
    requested_seq bigint,
    finalized boolean not null default false,
    renew_before timestamptz,        -- when the first certificate of the artifact's newest seal expires
    closed text,                     -- revoked or archived
    predecessor uuid                 -- the document that this one is a new version of
) with (fillfactor = 70);

create index artifact_due on foja.document (renew_before) where finalized;
create index document_successors on foja.document (predecessor) where predecessor is not null;
create index document_versions on foja.document (witness_hash) where predecessor is not null;

-- Every attempt: open until it ends. A document has one artifact, whatever the witness.
create table foja.attempt (
    entity_id uuid not null,
    evidence text not null,
    witness_hash text not null,
    attempt integer not null,
    asked_seq bigint not null,       -- of its `job.*.required`; the key of the job carries it
    deadline timestamptz not null,
    state text not null default 'open',  -- open | failed | superseded | confirmed | reorged
    tenant text not null,
    submitted_seq bigint,            -- of its `anchor.submitted`
    primary key (entity_id, evidence, witness_hash, attempt)
) with (fillfactor = 70);

create index attempt_due on foja.attempt (deadline, evidence) where state = 'open';
create index attempt_failed on foja.attempt (tenant, entity_id) where state in ('failed', 'reorged');

-- What lists show, as of the first `length` events. Written by the executor, rebuilt by replay.
create table foja.document_summary (
    entity_id uuid primary key,
    tenant text not null,
    state text not null,
    pipeline text,
    lifecycle_status text not null,
    witness_hash text,
    length bigint not null,
    began_at timestamptz not null,
    failed boolean not null          -- an attempt failed at what is still required: it may have been given up
) with (fillfactor = 70);

create index document_list on foja.document_summary (tenant, began_at, entity_id);
create index document_list_states on foja.document_summary (tenant, state, began_at, entity_id);
create index document_list_failed on foja.document_summary (tenant, began_at, entity_id) where failed;

select foja.restore_rows('foja.ability', 'foja.document_summary');
update foja.domain set guard = 'track_documents' where domain = 'document';
