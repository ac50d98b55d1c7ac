-- name: abilities
-- What this installation can produce.
select evidence from foja.ability;

-- name: document_histories
-- The sealed histories of many documents, each by its place in the list, and the moment of reading; without tokens.
select asked.place, v.seq, v.kind, v.at,
    case v.kind when 'tsa.confirmed' then (v.payload::jsonb - 'token_b64')::json else v.payload end, clock_timestamp()
from unnest(%(entities)s::uuid[]) with ordinality asked (entity_id, place)
join foja.entity e on e.entity_id = asked.entity_id and e.domain = 'document'
cross join lateral (select * from foja.event x where x.entity_id = e.entity_id and x.seq < e.sealed offset 0) v
order by asked.place, v.seq;

-- name: document_history
-- All events of one document, and the moment of reading.
select v.seq, v.event_id, v.kind, v.v, v.at, v.actor, v.source, v.payload, v.body_hash, clock_timestamp()
from foja.event v join foja.entity e using (entity_id)
where v.entity_id = %(document)s and v.tenant = %(tenant)s and e.domain = 'document' order by v.seq;

-- name: document_artifact
-- The newest artifact of a document, renewals included; none after a revocation: a new bundle shows it.
select v.payload ->> 'sha256' from foja.event v
where v.entity_id = %(document)s and v.tenant = %(tenant)s and v.kind in ('artifact.finalized', 'artifact.renewed')
    and not exists (select from foja.event r where r.entity_id = v.entity_id and r.kind = 'document.revoked')
order by v.seq desc limit 1;

-- name: artifacts_due
-- Final documents whose newest seal expires soon, and the digests of their artifacts.
select d.entity_id, a.sha256, d.renew_before
from foja.document d
cross join lateral (
    select v.payload ->> 'sha256' from foja.event v
    where v.entity_id = d.entity_id and v.kind in ('artifact.finalized', 'artifact.renewed')
    order by v.seq desc limit 1
) a (sha256)
where d.finalized and d.tenant = %(tenant)s and d.renew_before < %(before)s and d.closed is null
    and (%(after)s::timestamptz is null or (d.renew_before, d.entity_id) > (%(after)s, %(document)s::uuid))
order by d.renew_before, d.entity_id limit %(limit)s;

-- name: write_summaries
-- Write the summaries of documents, as of the events that were read.
select foja.write_summaries(%(entities)s, %(states)s, %(pipelines)s, %(lifecycles)s, %(witnesses)s, %(lengths)s,
    %(began)s);

-- name: rebuild_summaries
-- Replace the summaries by replay, and return which of them changed.
select entity_id, mended from foja.rebuild_summaries(%(entities)s, %(states)s, %(pipelines)s, %(lifecycles)s,
    %(witnesses)s, %(lengths)s, %(began)s);

-- name: documents
-- A page of the list, newest first; the name is read from its event, where it can be erased.
select s.entity_id, added.payload ->> 'name', s.state, s.pipeline, s.lifecycle_status, s.witness_hash, s.began_at
from foja.document_summary s
left join foja.document d using (entity_id)
left join foja.event added on added.entity_id = s.entity_id and added.seq = d.added_seq
where s.tenant = %(tenant)s
  and (%(before)s::uuid is null or (s.began_at, s.entity_id) <
      (select b.began_at, b.entity_id from foja.document_summary b where b.entity_id = %(before)s))
order by s.began_at desc, s.entity_id desc limit %(limit)s;

-- name: document_states
-- The states of these documents, as lists show them.
select s.entity_id, s.state, s.pipeline from foja.document_summary s
where s.entity_id = any (%(documents)s::uuid[]) and s.tenant = %(tenant)s;

-- name: documents_local
-- Whether the stamp of each document is of the local authority: the stamp of the last request, else any. Documents
-- without a stamp are left out.
select s.entity_id,
    coalesce(bool_or(t.local) filter (where t.witness_hash = s.witness_hash), nullif(bool_or(t.local), false))
from foja.document_summary s
cross join lateral (
    select v.payload ->> 'witness_hash', v.payload ->> 'local' is not distinct from 'true' from foja.event v
    where v.entity_id = s.entity_id and v.kind = 'tsa.confirmed' offset 0
) t (witness_hash, local)
where s.entity_id = any (%(documents)s::uuid[]) and s.tenant = %(tenant)s
group by s.entity_id, s.witness_hash;

-- name: documents_known
-- Which of these documents exist, in the given order.
select e.entity_id from unnest(%(documents)s::uuid[]) with ordinality asked (entity_id, place)
join foja.entity e using (entity_id) where e.tenant = %(tenant)s and e.domain = 'document' order by asked.place;

-- name: document_successors
-- The documents that name this one as their predecessor, oldest first.
select d.entity_id from foja.document d
left join foja.event v on v.entity_id = d.entity_id and v.seq = d.added_seq
where d.predecessor = %(document)s and d.tenant = %(tenant)s order by v.at, d.entity_id;

-- name: document_versions
-- Documents with this digest, one of these names and a predecessor, newest first.
select d.entity_id from foja.document d
join foja.event v on v.entity_id = d.entity_id and v.seq = d.added_seq
where d.witness_hash = %(sha256)s and d.predecessor is not null and d.tenant = %(tenant)s
  and v.payload ->> 'name' = any (%(names)s::text[])
order by v.at desc, d.entity_id;

-- name: document_ids
-- A page of all documents of this tenant, by id; also of ids that only the guards' tables have.
select entity_id from (
    (select entity_id from foja.entity where tenant = %(tenant)s and domain = 'document'
        and (%(after)s::uuid is null or entity_id > %(after)s) order by entity_id limit %(limit)s)
    union
    (select entity_id from foja.document where tenant = %(tenant)s
        and (%(after)s::uuid is null or entity_id > %(after)s) order by entity_id limit %(limit)s)
    union
    (select entity_id from foja.attempt where tenant = %(tenant)s
        and (%(after)s::uuid is null or entity_id > %(after)s) order by entity_id limit %(limit)s)
) known order by entity_id limit %(limit)s;

-- name: rebuild_documents
-- Rebuild the guards' tables of these documents from the events, and return which of them changed.
select foja.rebuild_documents(%(entities)s::uuid[]);

-- name: expire_attempts
-- Close attempts past their deadline.
select foja.expire_attempts(%(most)s);

-- name: documents_failed
-- A page of documents, by id, with a failed attempt at what the last request requires, and none open or confirmed.
-- Their histories tell whether it was given up.
select distinct a.entity_id from foja.attempt a
join foja.document d on d.entity_id = a.entity_id and not d.finalized and d.closed is null
where a.tenant = %(tenant)s and a.state in ('failed', 'reorged') and a.evidence = any (%(evidence)s::text[])
  and a.entity_id > %(after)s::uuid and (a.witness_hash = d.witness_hash or a.evidence = 'artifact')
  and not exists (select from foja.attempt b where b.entity_id = a.entity_id and b.evidence = a.evidence
      and (b.witness_hash = a.witness_hash or a.evidence = 'artifact') and b.state in ('open', 'confirmed'))
order by a.entity_id limit %(limit)s;

-- name: documents_at_work
-- Which of these documents have a job that runs now or soon: of an attempt, or of the executor. Jobs of a paused
-- type do not count: it may stay paused.
select asked.entity_id from unnest(%(documents)s::uuid[]) asked (entity_id)
where exists (select from foja.attempt a
        join foja.job j on j.entity_id = a.entity_id and j.type = foja.job_of(a.evidence)
            and j.dedupe_key = a.asked_seq::text
        join foja.job_type t on t.type = j.type
        where a.entity_id = asked.entity_id and a.state = 'open'
            and (j.state = 'running' or j.state in ('queued', 'retry_scheduled') and not t.paused
                and j.run_at <= clock_timestamp() + make_interval(secs => %(within)s)))
   or exists (select from foja.job j join foja.job_type t on t.type = j.type
        where j.entity_id = asked.entity_id and j.type = 'protect_document_v2' and j.dedupe_key = 'executor'
            and (j.state = 'running' or j.state in ('queued', 'retry_scheduled') and not t.paused))
   or exists (select from foja.entity e join foja.job_type t on t.type = 'protect_document_v2'
        where e.entity_id = asked.entity_id and e.awake is not null and not t.paused);
