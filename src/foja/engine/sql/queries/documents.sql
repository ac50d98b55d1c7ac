-- name: abilities
-- What this installation can produce.
select evidence from foja.ability;

-- name: document_histories
-- The sealed histories of many documents, each by its place in the list, how many of their events the executor saw before
-- (null: it never did), and the moment of reading; without the tokens that it saw. Stream by stream: joined, a planner that
-- knows no sizes would read all streams of the domain.
select asked.place, v.seq, v.kind, v.at,
    case when v.kind = 'tsa.confirmed' and v.seq < before.length
        then (v.payload::jsonb - '{token_b64,blinding_b64,path_b64}'::text[])::json else v.payload end as payload,
    before.length as seen, clock_timestamp() as now
from unnest(%(entities)s::uuid[]) with ordinality asked (entity_id, place)
cross join lateral (select * from foja.entity s where s.entity_id = asked.entity_id offset 0) e
cross join lateral (select (select s.length from foja.document_summary s where s.entity_id = e.entity_id) as length offset 0) before
cross join lateral (select * from foja.event x where x.entity_id = e.entity_id and x.seq < e.sealed offset 0) v
where e.domain = 'document'
order by asked.place, v.seq;

-- name: document_history
-- All events of one document, and the moment of reading.
select v.seq, v.event_id as id, v.kind, v.v, v.at, v.actor, v.source, v.payload, v.body_hash, clock_timestamp() as now
from foja.event v join foja.entity e using (entity_id)
where v.entity_id = %(document)s and v.tenant = %(tenant)s and e.domain = 'document' order by v.seq;

-- name: document_artifact
-- The newest artifact of a document, renewals included; none after an erasure, which ends its references, nor after a
-- revocation: a new bundle shows it.
select v.payload ->> 'sha256' from foja.event v
where v.entity_id = %(document)s and v.tenant = %(tenant)s and v.kind in ('artifact.finalized', 'artifact.renewed')
    and exists (select from foja.object_reference o where o.entity_id = v.entity_id and o.seq = v.seq)
    and not exists (select from foja.event r where r.entity_id = v.entity_id and r.kind = 'document.revoked')
order by v.seq desc limit 1;

-- name: artifacts_due
-- Final documents whose newest seal expires soon, and the digests of their artifacts.
select d.entity_id as document, a.sha256, d.renew_before as ends
from foja.document d
cross join lateral (
    select v.payload ->> 'sha256' from foja.event v
    where v.entity_id = d.entity_id and v.kind in ('artifact.finalized', 'artifact.renewed')
        and exists (select from foja.object_reference o where o.entity_id = v.entity_id and o.seq = v.seq)
    order by v.seq desc limit 1
) a (sha256)
where d.finalized and d.tenant = %(tenant)s and d.renew_before < %(before)s and d.closed is null
    and (%(after)s::timestamptz is null or (d.renew_before, d.entity_id) > (%(after)s, %(document)s::uuid))
order by d.renew_before, d.entity_id limit %(limit)s;

-- name: write_summaries
-- Write the summaries of documents, as of the events that were read.
select foja.write_summaries(%(entities)s, %(states)s, %(pipelines)s, %(lifecycles)s, %(witnesses)s, %(lengths)s,
    %(began)s, %(failed)s);

-- name: rebuild_summaries
-- Replace the summaries by replay, and return which of them changed.
select entity_id, mended from foja.rebuild_summaries(%(entities)s, %(states)s, %(pipelines)s, %(lifecycles)s,
    %(witnesses)s, %(lengths)s, %(began)s, %(failed)s);

-- name: document_began
-- When a document began: the place of a page of the list.
select v.at from foja.event v where v.entity_id = %(document)s and v.seq = 0 and v.tenant = %(tenant)s;

-- name: documents
-- The ids of a page of the list, newest first, without reading other pages. Documents that no executor has seen yet have a
-- job of it instead of a summary.
select u.entity_id from (
    (select s.entity_id, s.began_at from foja.document_summary s
    where s.tenant = %(tenant)s and (s.began_at, s.entity_id) < (%(before_at)s, %(before)s)
    order by s.began_at desc, s.entity_id desc limit %(limit)s)
    union all
    (select d.entity_id, v.at from (
        select q.entity_id from foja.job q where q.type = 'protect_document_v2' and q.head and q.state in ('queued', 'retry_scheduled')
        union all select r.entity_id from foja.job r where r.type = 'protect_document_v2' and r.state = 'running'
    ) j
    cross join lateral (select x.entity_id from foja.document x where x.entity_id = j.entity_id and x.tenant = %(tenant)s offset 0) d
    cross join lateral (select y.at from foja.event y where y.entity_id = d.entity_id and y.seq = 0 offset 0) v
    where (select s.length from foja.document_summary s where s.entity_id = d.entity_id) is null
        and (v.at, d.entity_id) < (%(before_at)s, %(before)s))
) u order by u.began_at desc, u.entity_id desc limit %(limit)s;

-- name: documents_in_state
-- The same for the documents in one state.
select u.entity_id from (
    (select s.entity_id, s.began_at from foja.document_summary s
    where s.tenant = %(tenant)s and s.state = %(state)s and (s.began_at, s.entity_id) < (%(before_at)s, %(before)s)
    order by s.began_at desc, s.entity_id desc limit %(limit)s)
    union all
    (select d.entity_id, v.at from (
        select q.entity_id from foja.job q where q.type = 'protect_document_v2' and q.head and q.state in ('queued', 'retry_scheduled')
        union all select r.entity_id from foja.job r where r.type = 'protect_document_v2' and r.state = 'running'
    ) j
    cross join lateral (select x.entity_id from foja.document x where x.entity_id = j.entity_id and x.tenant = %(tenant)s offset 0) d
    cross join lateral (select y.at from foja.event y where y.entity_id = d.entity_id and y.seq = 0 offset 0) v
    where %(state)s = 'none' and (select s.length from foja.document_summary s where s.entity_id = d.entity_id) is null
        and (v.at, d.entity_id) < (%(before_at)s, %(before)s))
) u order by u.began_at desc, u.entity_id desc limit %(limit)s;

-- name: documents_given_up
-- The same for documents of which evidence was given up. Only those with a failed attempt are looked at.
select s.entity_id from foja.document_summary s
where s.tenant = %(tenant)s and s.failed and foja.is_given_up(s.entity_id) and (s.began_at, s.entity_id) < (%(before_at)s, %(before)s)
order by s.began_at desc, s.entity_id desc limit %(limit)s;

-- name: documents_found
-- Documents that have, for each of these beginnings, a word that begins so, newest first. The first beginning is looked
-- up: at most 20 words, and the newest 1,000 documents of each; the others are checked.
with recursive word (word, place) as (
    (select w.word, 1 from foja.document_word w
    where w.tenant = %(tenant)s and w.word >= %(first)s and w.word < %(first)s || chr(1114111) order by w.word limit 1)
    union all
    select (select w.word from foja.document_word w where w.tenant = %(tenant)s and w.word > word.word
        and w.word < %(first)s || chr(1114111) order by w.word limit 1), word.place + 1
    from word where word.word is not null and word.place < 20
)
select found.entity_id from (
    select distinct on (w.entity_id) w.entity_id, w.added_at from word
    cross join lateral (select x.entity_id, x.added_at from foja.document_word x
        where x.tenant = %(tenant)s and x.word = word.word order by x.added_at desc, x.entity_id desc limit 1000) w
) found
where not exists (select from unnest(%(others)s::text[]) o (start) where not exists (select from foja.document_word x
    where x.entity_id = found.entity_id and x.word >= o.start and x.word < o.start || chr(1114111)))
order by found.added_at desc, found.entity_id desc limit %(limit)s;

-- name: search_words
-- The words of a text, as those of names are written.
select foja.words_of(%(text)s);

-- name: documents_between
-- Documents whose ids begin alike.
select entity_id from foja.document where entity_id between %(low)s and %(high)s and tenant = %(tenant)s limit %(limit)s;

-- name: documents_listed
-- Rows of the list, for these documents in this order; the name is read from its event, where it can be erased.
select d.entity_id as id, added.payload ->> 'name' as name, coalesce(s.state, 'none') as state, s.pipeline,
    coalesce(s.lifecycle_status, 'needs_witness') as lifecycle, coalesce(s.witness_hash, d.witness_hash) as witness_hash,
    coalesce(s.began_at, began.at) as began_at, coalesce(s.failed, false) and foja.is_given_up(d.entity_id) as given_up
from unnest(%(documents)s::uuid[]) with ordinality asked (entity_id, place)
join foja.document d on d.entity_id = asked.entity_id and d.tenant = %(tenant)s
join foja.event began on began.entity_id = d.entity_id and began.seq = 0
left join foja.document_summary s on s.entity_id = d.entity_id
left join foja.event added on added.entity_id = d.entity_id and added.seq = d.added_seq
order by asked.place;

-- name: document_states
-- The states of these documents, as lists show them.
select s.entity_id, s.state, s.pipeline from foja.document_summary s
where s.entity_id = any (%(documents)s::uuid[]) and s.tenant = %(tenant)s;

-- name: documents_marked
-- Whether the stamp of each document is of the local authority: the stamp of the last request, else any; and the test
-- network that confirmed an anchor which was not taken back. Documents without a stamp are left out.
select s.entity_id,
    coalesce(bool_or(t.local) filter (where t.witness_hash = s.witness_hash), nullif(bool_or(t.local), false)),
    (select max(last.network) from (
        select distinct on (v.payload ->> 'network', v.payload ->> 'witness_hash') v.payload ->> 'test_network'
        from foja.event v
        where v.entity_id = s.entity_id and (v.kind = 'anchor.confirmed'
            or v.kind = 'anchor.failed' and v.payload ->> 'failure_code' = 'reorged')
        order by v.payload ->> 'network', v.payload ->> 'witness_hash', v.seq desc
    ) last (network))
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
-- Rebuild the guards' tables and the references of these documents from the events, queue the jobs that they lack, and
-- return which of them changed.
select foja.rebuild_documents(%(entities)s::uuid[]) union select foja.rebuild_references_v1(%(entities)s::uuid[])
union select foja.queue_lost_attempts(%(entities)s::uuid[]);

-- name: expire_attempts
-- Close attempts past their deadline; returns the tenants and streams.
select e.tenant, e.entity_id from foja.expire_attempts(%(most)s) closed join foja.entity e on e.entity_id = closed;

-- name: document_obstacles
-- What the events of a document do not say: which of its job types are paused, the last
-- errors of jobs that go on, why the log is halted, when the newest checkpoint was published, why no batch of a
-- network is made, what its own batches wait for, of which types jobs of its tenant wait for a worker, and how many of its
-- events the executor has seen; and what this installation can produce.
select array(select t.type from foja.job_type t where t.paused and (t.type = 'protect_document_v2' or exists (
        select from foja.attempt a where a.entity_id = %(document)s and a.state = 'open' and foja.job_of(a.evidence) = t.type))
        order by t.type) as paused,
    (select coalesce(jsonb_object_agg(j.type, j.last_error order by j.job_id), '{}') from foja.job j
        where j.entity_id = %(document)s and j.last_error is not null and j.state in ('queued', 'running', 'retry_scheduled')) as errors,
    (select l.halted from foja.log l where l.closed_size is null) as halted,
    (select max(c.published_at) from foja.checkpoint c join foja.log l on l.origin = c.origin and l.closed_size is null) as published_at,
    anchors.held, anchors.waiting as batches,
    array(select u.type from foja.unhandled_types_v1(%(tenant)s, 1, %(living)s) u) as unhandled,
    coalesce((select s.length from foja.document_summary s where s.entity_id = %(document)s), 0) as checked,
    array(select evidence from foja.ability) as abilities
from foja.anchor_obstacles_v1(%(document)s) anchors;

-- name: documents_length
-- How many events these documents have.
select coalesce(sum(e.next_seq), 0)::bigint from foja.entity e where e.entity_id = any (%(documents)s::uuid[])
    and e.tenant = %(tenant)s;

-- name: wake_stalled
-- Wake the executors of documents that have attempts left and none open.
select foja.wake_stalled(%(attempts)s::jsonb, %(most)s);

-- name: documents_failed
-- A page of documents, by id, with a failed attempt at what the last request requires, and none open or confirmed.
-- Their histories tell whether it was given up.
select distinct a.entity_id from foja.attempt a
join foja.document d on d.entity_id = a.entity_id and not d.finalized and d.closed is null
where a.tenant = %(tenant)s and a.state in ('failed', 'reorged')
  and (%(evidence)s::text[] is null or a.evidence = any (%(evidence)s::text[]))
  and a.entity_id > %(after)s::uuid and (a.witness_hash = d.witness_hash or a.evidence = 'artifact')
  and not exists (select from foja.attempt b where b.entity_id = a.entity_id and b.evidence = a.evidence
      and (b.witness_hash = a.witness_hash or a.evidence = 'artifact') and b.state in ('open', 'confirmed'))
order by a.entity_id limit %(limit)s;

-- name: documents_at_work
-- Which of these documents have a job that runs now or soon: of an attempt, of its batch, or of the executor. Jobs of a
-- paused type do not count: it may stay paused.
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
        where e.entity_id = asked.entity_id and e.awake is not null and not t.paused)
   or foja.is_anchoring_v1(asked.entity_id, %(within)s);
