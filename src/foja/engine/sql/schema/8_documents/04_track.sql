-- The guards of every event of a document, called in the event's own transaction.

-- `*.confirmed`, each of its own document: once, for an attempt that is open, or with `late: true` for one that has ended.
create function foja.confirm_attempts(p_entity uuid[], p_seq bigint[]) returns void
language plpgsql as $$
declare
    problem text;
    attempts foja.attempt[];
begin
    select min(coalesce(r.problem, case
            -- Not `exists`: planned while the table is empty, that would hash the whole of it, for ever.
            when (select true from foja.attempt c where c.entity_id = (r.a).entity_id and c.evidence = (r.a).evidence
                    and c.witness_hash = (r.a).witness_hash and c.state = 'confirmed' limit 1)
                then format('already_confirmed: %s of %s is confirmed', (r.a).evidence, (r.a).witness_hash)
            when (r.a).state <> 'open' and r.payload -> 'late' is distinct from 'true'
                then format('attempt_not_open: attempt %s at %s has ended', (r.a).attempt, (r.a).evidence)
            when (r.new).kind = 'tsa.confirmed' and (r.payload ->> 'token_b64' = ''
                        or (r.payload ? 'blinding_b64') <> (r.payload ? 'path_b64'))
                    or (r.new).kind in ('tsa.confirmed', 'anchor.confirmed') and said.moment is null
                then format('bad_payload: %s needs its proof and a valid time', (r.new).kind)
            when said.moment > (r.new).at + interval '5 minutes' then format(
                'bad_payload: the time of %s is after the database''s clock, %s', (r.new).kind, (r.new).at) end)),
        array_agg(r.a)
    into problem, attempts from foja.reports(p_entity, p_seq) r
    cross join lateral (select foja.moment(coalesce(r.payload ->> 'gen_time', r.payload ->> 'confirmed_at')) offset 0) said(moment);
    perform foja.refuse_problem(problem);
    perform foja.end_attempts(attempts, 'confirmed');
end $$;

-- `anchor.submitted`, each of its own document: once, for an open attempt.
create function foja.submit_attempts(p_entity uuid[], p_seq bigint[]) returns void
language plpgsql as $$
declare
    problem text;
    attempts foja.attempt[];
    seqs bigint[];
begin
    select min(coalesce(r.problem, case
            when (r.a).state <> 'open' then format('attempt_not_open: attempt %s at %s has ended', (r.a).attempt, (r.a).evidence)
            when (r.a).submitted_seq is not null then format('already_submitted: event %s submitted attempt %s at %s',
                (r.a).submitted_seq, (r.a).attempt, (r.a).evidence) end)),
        array_agg(r.a), array_agg((r.new).seq)
    into problem, attempts, seqs from foja.reports(p_entity, p_seq) r;
    perform foja.refuse_problem(problem);
    update foja.attempt x set submitted_seq = t.seq
    from (select u.seq, o.place from unnest(attempts, seqs) u(entity_id, evidence, witness_hash, attempt, asked_seq, deadline,
            state, tenant, submitted_seq, seq)
        cross join lateral (select a.ctid as place from foja.attempt a where a.entity_id = u.entity_id
            and a.evidence = u.evidence and a.witness_hash = u.witness_hash and a.attempt = u.attempt offset 0) o) t
    where x.ctid = t.place;
end $$;

-- `*.failed`, `anchor.timeout`: once, for an open attempt; `reorged` takes the confirmation of a network back, and
-- `token_refused` that of a timestamp.
create function foja.track_failure(p_entity uuid, p_seq bigint) returns void
language plpgsql as $$
declare
    r record;
    a foja.attempt;
    taken_back boolean;
begin
    select * into r from foja.reports(array[p_entity], array[p_seq]);
    perform foja.refuse_problem(r.problem);
    a := r.a;
    taken_back := a.evidence <> 'artifact'
        and r.payload ->> 'failure_code' = case a.evidence when 'tsa' then 'token_refused' else 'reorged' end;
    if a.state <> (case when taken_back then 'confirmed' else 'open' end) then
        perform foja.refuse('attempt_not_open', format('attempt %s at %s has ended', a.attempt, a.evidence));
    elsif a.evidence in ('polygon', 'bitcoin', 'rekor') and r.payload ->> 'failure_code' not in ('calendars_refused', 'dropped',
            'job_died', 'log_refused', 'max_attempts', 'missing_tx_hash', 'nonce_spent', 'proof_invalid', 'receipt_status',
            'refused', 'reorged', 'timeout') then
        perform foja.refuse('bad_payload', format('%s is not a failure code of an anchor', r.payload ->> 'failure_code'));
    end if;
    perform foja.end_attempts(array[a], case when taken_back then 'reorged' else 'failed' end);
    if taken_back then
        perform foja.supersede_attempts(a.entity_id, 'its evidence was taken back');
    end if;
end $$;

-- Why this payload does not describe an artifact, or null.
create function foja.artifact_problem(payload jsonb) returns text
language sql stable
return case when not foja.is_hash(payload ->> 'sha256') then 'sha256 must be 64 hexadecimal digits in lower case'
    when (payload ->> 'size')::numeric < 0 or (payload ->> 'size')::numeric <> trunc((payload ->> 'size')::numeric)
        then 'size must be a number of bytes'
    when payload ->> 'renew_before' is not null and foja.moment(payload ->> 'renew_before') is null
        then 'renew_before must be a moment'
    when payload ->> 'profile' = '' then 'profile must not be empty'
    when payload ->> 'verdict' not in ('TOTAL_PASSED', 'INDETERMINATE', 'TOTAL_FAILED')
        then 'verdict must be TOTAL_PASSED, INDETERMINATE or TOTAL_FAILED' end;

-- A tick per tenant looks for artifacts to renew, once a day.
create function foja.plan_renewals(p_tenant text) returns void
language plpgsql as $$
begin
    insert into foja.tick (name, type, every, due, tenant)
    values ('renew_artifacts:' || p_tenant, 'renew_artifacts', '1 day', clock_timestamp() + '1 day', p_tenant)
    on conflict do nothing;
end $$;

-- `artifact.finalized`, each of its own document: once, when everything that the last request requires was confirmed before it
-- was built.
create function foja.finalize_documents(p_entity uuid[], p_seq bigint[]) returns void
language plpgsql as $$
declare
    problem text;
    attempts foja.attempt[];
    documents uuid[];
    renewals timestamptz[];
    due record;
begin
    select min(coalesce(foja.standing_problem(d), 'bad_payload: ' || foja.artifact_problem(w.p), case
            when w.p ->> 'verdict' <> 'TOTAL_PASSED' then format(
                'bad_payload: an artifact is final only if the judge passes it, not with %s', w.p ->> 'verdict')
            else coalesce(foja.turn_problem(d, 'artifact', d.witness_hash), case
                when (a.state = 'open' and a.witness_hash = d.witness_hash and a.asked_seq > d.requested_seq) is not true
                    then 'attempt_not_open: no attempt at the artifact is open' end) end)),
        array_agg(a), array_agg(new.entity_id), array_agg(foja.moment(w.p ->> 'renew_before'))
    into problem, attempts, documents, renewals
    from foja.events_at(p_entity, p_seq) new cross join lateral foja.document_at(new.entity_id) d
    cross join lateral (select new.payload::jsonb as p offset 0) w
    left join lateral foja.find_attempt(new.entity_id, 'artifact', d.witness_hash, foja.attempt_number(w.p)) a on true;
    perform foja.refuse_problem(problem);
    perform foja.end_attempts(attempts, 'confirmed');
    for due in select r.renew_before, array_agg(r.document) as documents from unnest(documents, renewals) r(document, renew_before)
        group by r.renew_before
    loop  -- mostly once: the certificates of an authority expire at one time
        update foja.document d set finalized = true, renew_before = due.renew_before where d.entity_id = any (due.documents);
    end loop;
    perform foja.plan_renewals(t.tenant) from (select distinct d.tenant from foja.document d where d.entity_id = any (documents)) t;
end $$;

-- Why this payload does not record a signature, or null. The signature itself is checked by every reader: an event
-- cannot say that it was.
create function foja.signature_problem(payload jsonb) returns text
language sql immutable parallel safe
return case when coalesce(payload ->> 'format', '') not in ('cms', 'jws', 'raw', 'unchecked')
        then 'format must be cms, jws, raw or unchecked'
    when payload ->> 'format' = 'unchecked' then null
    when coalesce(payload ->> 'signature_b64', '') !~ '^([A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2}([A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)$'
            or octet_length(payload ->> 'signature_b64') > 349528
        then 'signature_b64 must be a signature in base64, at most 262,144 bytes; record another one with the format unchecked'
    when payload ->> 'format' = 'raw' and num_nonnulls(payload ->> 'key_b64', payload ->> 'certificate_b64') <> 1
        then 'a raw signature needs key_b64 or certificate_b64' end;

-- Whether an event before this one names the digest for the document itself.
create function foja.is_rendition(p_entity uuid, p_digest text, p_before bigint) returns boolean
language sql stable
return exists (select from foja.event e where e.entity_id = p_entity and e.seq < p_before
    and case e.kind when 'document.added' then e.payload ->> 'sha256' = p_digest
        when 'document.witness.ready' then e.payload ->> 'witness_hash' = p_digest
        when 'document.protected.requested' then e.payload ->> 'witness_hash' = p_digest end);

-- `document.signed`, from version 2 on: a signature over a digest of this document.
create function foja.check_signed(new foja.event, payload jsonb) returns void
language plpgsql stable as $$
declare
    problem text := foja.signature_problem(payload);
begin
    if problem is not null then
        perform foja.refuse('bad_payload', problem);
    elsif not foja.is_rendition(new.entity_id, payload ->> 'witness_hash', new.seq) then
        perform foja.refuse('precondition_failed:missing_witness', format(
            'no event names %s for this document; append document.witness.ready first', payload ->> 'witness_hash'));
    end if;
end $$;

-- `document.added`: once, as the first event. The words of a document are what a search finds.
create function foja.add_documents(p_entity uuid[], p_seq bigint[]) returns void
language plpgsql as $$
declare
    problem text;
begin
    with given as materialized (
        select new.entity_id, new.seq, new.tenant, new.at, p ->> 'sha256' as digest, p ->> 'name' as title,
            foja.as_uuid(p ->> 'predecessor') as predecessor
        from foja.events_at(p_entity, p_seq) new cross join lateral (select new.payload::jsonb as p offset 0) body
    ), added as (
        insert into foja.document (entity_id, tenant, added_seq, witness_hash, witness_status, predecessor)
        select g.entity_id, g.tenant, g.seq, g.digest, 'ready', g.predecessor from given g
        on conflict do nothing returning entity_id
    ), indexed as (
        insert into foja.document_word (entity_id, word, tenant, added_at)
        select g.entity_id, found.word, g.tenant, g.at from given g
        cross join lateral (select '#' || g.digest union all select foja.words_of(g.title)) found(word)
        where found.word is not null
        on conflict do nothing
    )
    select min(case when not foja.is_hash(g.digest) then 'bad_payload: sha256 must be 64 hexadecimal digits in lower case'
        when g.entity_id not in (select a.entity_id from added a)
            then format('already_added: document.added must be the first event of %s', g.entity_id) end)
    into problem from given g;
    perform foja.refuse_problem(problem);
end $$;

-- Other events about the document itself.
create function foja.track_lifecycle(new foja.event, payload jsonb, d foja.document) returns void
language plpgsql as $$
begin
    if d.closed = 'archived' or d.closed is not null and new.kind <> 'document.archived' then
        perform foja.refuse('document_closed', format('%s was %s', d.entity_id, d.closed));
    elsif new.kind in ('document.revoked', 'document.archived') then
        update foja.document set closed = split_part(new.kind, '.', 2) where entity_id = new.entity_id;
        perform foja.supersede_attempts(new.entity_id, new.kind);
    elsif new.kind = 'document.witness.ready' then
        update foja.document set witness_status = 'ready' where entity_id = new.entity_id;
    elsif new.kind = 'document.witness.required' then
        update foja.document set witness_status = 'required' where entity_id = new.entity_id;
        perform foja.supersede_attempts(new.entity_id, new.kind);
    elsif d.witness_status <> 'ready' and (new.kind, new.v) <> ('document.signed', 1) then
        -- A signature is over a witness. Version 1 is read from old events only.
        perform foja.refuse('precondition_failed:missing_witness',
            format('%s has no witness; append document.witness.ready first', d.entity_id));
    elsif new.kind = 'document.signed' and new.v > 1 then
        perform foja.check_signed(new, payload);
    end if;
end $$;

create function foja.as_uuid(value text) returns uuid
language sql immutable parallel safe
return case when value ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then value::uuid end;

-- A predecessor is a document of the same tenant. Not checked on replay: the streams may come in another order.
create function foja.check_predecessor(new foja.event, p_named text) returns void
language plpgsql stable as $$
begin
    if not exists (select from foja.entity e where e.entity_id = foja.as_uuid(p_named) and e.entity_id <> new.entity_id
            and e.domain = 'document' and e.tenant = new.tenant) then
        perform foja.refuse('unknown_entity', format('the predecessor %s is not a document of this tenant', p_named));
    end if;
end $$;

-- Events of a kind without a guard for many.
create function foja.track_document(new foja.event, payload jsonb, d foja.document) returns void
language plpgsql as $$
begin
    if new.kind like 'document.%' then
        perform foja.track_lifecycle(new, payload, d);
    elsif new.kind = 'protection.retry.requested' then
        perform foja.check_retry(payload, d);
    elsif new.kind = 'artifact.renewed' then
        if not d.finalized then
            perform foja.refuse('precondition_failed:not_final', 'only a final artifact can be renewed');
        elsif foja.artifact_problem(payload) is not null then
            perform foja.refuse('bad_payload', foja.artifact_problem(payload));
        end if;
        update foja.document set renew_before = foja.moment(payload ->> 'renew_before') where entity_id = new.entity_id;
    else
        perform foja.track_failure(new.entity_id, new.seq);
    end if;
end $$;

-- Apply events of one kind, each of its own document, to the tables beside the events, or refuse one. The attempts at all
-- evidence are opened by one guard. Documents, attempts and jobs are looked up one by one, never joined: a plan that was made
-- while the tables were empty would read them whole, and for each document all events of the batch.
create function foja.apply_document_events(p_kind text, p_entity uuid[], p_seq bigint[]) returns void
language plpgsql as $$
begin
    if exists (select from foja.events_at(p_entity, p_seq) new where not foja.is_hash(coalesce(new.payload ->> 'witness_hash',
            case when new.payload -> 'witness_hash' is null then repeat('0', 64) end))) then
        perform foja.refuse('bad_payload', 'witness_hash must be a SHA-256 digest: 64 hexadecimal digits in lower case');
    elsif p_kind = 'document.added' then
        perform foja.add_documents(p_entity, p_seq);
        return;
    end if;
    insert into foja.document (entity_id, tenant) select new.entity_id, new.tenant from foja.events_at(p_entity, p_seq) new
    where (select d.entity_id from foja.document d where d.entity_id = new.entity_id) is null;
    case
        when p_kind = 'document.protected.requested' then perform foja.request_documents(p_entity, p_seq);
        when p_kind like 'job.%' then perform foja.open_attempts(p_entity, p_seq);
        when p_kind like '%.confirmed' then perform foja.confirm_attempts(p_entity, p_seq);
        when p_kind = 'anchor.submitted' then perform foja.submit_attempts(p_entity, p_seq);
        when p_kind = 'artifact.finalized' then perform foja.finalize_documents(p_entity, p_seq);
        else perform foja.track_document(new, new.payload::jsonb, d)
            from foja.events_at(p_entity, p_seq) new cross join lateral foja.document_at(new.entity_id) d;
    end case;
end $$;

-- The guard of documents. Events of one kind are applied together, the first event of each document before its second.
create function foja.track_documents(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
declare
    part record;
begin
    if not p_at_head then
        perform foja.refuse('bad_reservation', 'a document has no reserved numbers; append without a number');
    end if;
    for part in
        select u.kind, array_agg(u.entity_id) as documents, array_agg(u.seq) as seqs from (
            select e.entity_id, e.seq, row_number() over (partition by e.entity_id order by e.seq) as turn,
                case when e.kind like 'job.%' then 'job.required' else e.kind end as kind
            from foja.events_at(p_entity, p_seq) e) u
        group by u.turn, u.kind order by u.turn
    loop
        perform foja.apply_document_events(part.kind, part.documents, part.seqs);
        if part.kind = 'document.protected.requested' then
            perform foja.check_ability(asked.required) from (select distinct (e.payload -> 'required_evidence')::jsonb
                from foja.events_at(part.documents, part.seqs) e) asked(required);
        elsif part.kind = 'document.added' then
            perform foja.check_predecessor(e, e.payload ->> 'predecessor') from foja.events_at(part.documents, part.seqs) e
            where e.payload ->> 'predecessor' is not null;
        end if;
    end loop;
    return null;
end $$;

-- The rows beside the events of a stream, as one value.
create function foja.tracked(p_entity uuid) returns jsonb
language sql stable
return jsonb_build_array((select to_jsonb(d) from foja.document d where d.entity_id = p_entity),
    (select jsonb_agg(to_jsonb(a) order by a.asked_seq) from foja.attempt a where a.entity_id = p_entity),
    (select jsonb_agg(to_jsonb(w) order by w.word) from foja.document_word w where w.entity_id = p_entity));

-- Write them again from the events, under the lock of the stream; returns whether they changed.
create function foja.rebuild_document(p_entity uuid) returns boolean
language plpgsql as $$
declare
    old foja.event;
    before jsonb;
begin
    perform from foja.entity e where e.entity_id = p_entity for no key update;
    before := foja.tracked(p_entity);
    delete from foja.attempt a where a.entity_id = p_entity;
    delete from foja.document d where d.entity_id = p_entity;
    delete from foja.document_word w where w.entity_id = p_entity;
    for old in select v.* from foja.entity e join foja.event v using (entity_id)
        where e.entity_id = p_entity and e.domain = 'document' and v.kind not in ('slot.voided', 'body.erased')
        order by v.seq
    loop
        if old.payload is null then  -- erased: only the number of `document.added` is left
            insert into foja.document (entity_id, tenant, added_seq, witness_status)
            values (old.entity_id, old.tenant, old.seq, 'ready');
        else
            perform foja.apply_document_events(old.kind, array[old.entity_id], array[old.seq]);
        end if;
    end loop;
    return before is distinct from foja.tracked(p_entity);
end $$;

-- Open attempts without their job. Both are made in one transaction.
create function foja.lost_attempts() returns setof foja.attempt
language sql stable
begin atomic
    select a.* from foja.attempt a where a.state = 'open' and not exists (select from foja.job j
        where j.entity_id = a.entity_id and j.type = foja.job_of(a.evidence) and j.dedupe_key = a.asked_seq::text);
end;

-- Queue the jobs of the open attempts at these documents that have none; returns the documents.
create function foja.queue_lost_attempts(p_entities uuid[]) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    jobs foja.new_job[];
begin
    perform foja.check_source('protect-document-v2');
    perform from foja.entity e where e.entity_id = any (p_entities) order by e.entity_id for no key update;
    select array_agg(row(foja.job_of(a.evidence), a.entity_id, a.tenant, a.asked_seq::text, about::text, 0, 1,
        jsonb_build_object('kind', case when a.evidence in ('tsa', 'artifact') then a.evidence else 'anchor' end || '.failed',
            'v', 1, 'payload', foja.timeout_payload(a) - 'limit' || about
                || '{"failure_code": "job_died", "reason": "its job could not be done; see `foja jobs list`"}')::text,
        null)::foja.new_job)
    into jobs from foja.lost_attempts() a
    cross join lateral (select jsonb_build_object('witness_hash', a.witness_hash, 'attempt', a.attempt) as about) told
    where a.entity_id = any (p_entities);
    if jobs is not null then
        perform foja.insert_jobs(jobs);
    end if;
    return query select distinct j.entity_id from unnest(jobs) j;
end $$;

-- The same for many streams, each locked in turn; returns those that changed.
create function foja.rebuild_documents(p_entities uuid[]) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('protect-document-v2');
    return query select each.entity_id from (select unnest(p_entities) as entity_id order by 1 offset 0) each
    where foja.rebuild_document(each.entity_id);
end $$;
