-- The guards of every event of a document, called in the event's own transaction.

-- `*.confirmed`: once, for an attempt that is open, or with `late: true` for one that has ended.
create function foja.track_confirmation(new foja.event, payload jsonb, a foja.attempt) returns void
language plpgsql as $$
begin
    if foja.is_confirmed(a.entity_id, a.evidence, a.witness_hash) then
        perform foja.refuse('already_confirmed', format('%s of %s is confirmed', a.evidence, a.witness_hash));
    elsif a.state <> 'open' and payload -> 'late' is distinct from 'true' then
        perform foja.refuse('attempt_not_open', format('attempt %s at %s has ended', a.attempt, a.evidence));
    elsif new.kind = 'tsa.confirmed' and (payload ->> 'token_b64' = '' or foja.moment(payload ->> 'gen_time') is null
                or (payload ? 'blinding_b64') <> (payload ? 'path_b64'))
            or new.kind = 'anchor.confirmed' and foja.moment(payload ->> 'confirmed_at') is null then
        perform foja.refuse('bad_payload', format('%s needs its proof and a valid time', new.kind));
    elsif foja.moment(coalesce(payload ->> 'gen_time', payload ->> 'confirmed_at')) > new.at + interval '5 minutes' then
        perform foja.refuse('bad_payload', format('the time of %s is after the database''s clock, %s', new.kind, new.at));
    end if;
    perform foja.end_attempt(a, 'confirmed');
end $$;

-- `*.failed`, `anchor.timeout`: once, for an open attempt; `reorged` takes the confirmation of a network back, and
-- `token_refused` that of a timestamp.
create function foja.track_failure(payload jsonb, a foja.attempt) returns void
language plpgsql as $$
declare
    taken_back boolean := a.evidence <> 'artifact'
        and payload ->> 'failure_code' = case a.evidence when 'tsa' then 'token_refused' else 'reorged' end;
begin
    if a.state <> (case when taken_back then 'confirmed' else 'open' end) then
        perform foja.refuse('attempt_not_open', format('attempt %s at %s has ended', a.attempt, a.evidence));
    elsif a.evidence in ('polygon', 'bitcoin', 'rekor') and payload ->> 'failure_code' not in ('calendars_refused', 'dropped',
            'job_died', 'log_refused', 'max_attempts', 'missing_tx_hash', 'nonce_spent', 'proof_invalid', 'receipt_status',
            'refused', 'reorged', 'timeout') then
        perform foja.refuse('bad_payload', format('%s is not a failure code of an anchor', payload ->> 'failure_code'));
    end if;
    perform foja.end_attempt(a, case when taken_back then 'reorged' else 'failed' end);
    if taken_back then
        perform foja.supersede_attempts(a.entity_id, 'its evidence was taken back');
    end if;
end $$;

-- `anchor.submitted`: once, for an open attempt.
create function foja.track_submission(new foja.event, a foja.attempt) returns void
language plpgsql as $$
begin
    if a.state <> 'open' then
        perform foja.refuse('attempt_not_open', format('attempt %s at %s has ended', a.attempt, a.evidence));
    elsif a.submitted_seq is not null then
        perform foja.refuse('already_submitted',
            format('event %s submitted attempt %s at %s', a.submitted_seq, a.attempt, a.evidence));
    end if;
    update foja.attempt x set submitted_seq = new.seq where x.entity_id = a.entity_id and x.evidence = a.evidence
        and x.witness_hash = a.witness_hash and x.attempt = a.attempt;
end $$;

-- The report of a worker or of the sweeper about an attempt.
create function foja.track_attempt_end(new foja.event, payload jsonb, d foja.document) returns void
language plpgsql as $$
declare
    subject text := split_part(new.kind, '.', 1);
    outcome text := split_part(new.kind, '.', 2);
    reported text := case subject when 'anchor' then payload ->> 'network' else subject end;
    witness text := payload ->> 'witness_hash';
    a foja.attempt;
begin
    if subject = 'anchor' then
        perform foja.check_network(reported, new.kind, new.source);
    end if;
    if d.requested_seq is null then
        perform foja.refuse('precondition_failed:missing_request', 'protection was not requested');
    elsif reported not in ('tsa', 'artifact') and not exists (select from foja.attempt t where t.entity_id = new.entity_id
            and t.evidence = 'tsa' and t.witness_hash = witness and t.state in ('confirmed', 'reorged')) then
        perform foja.refuse('precondition_failed:missing_tsa_for_witness_hash', format('%s has no timestamp', witness));
    end if;
    a := foja.find_attempt(new.entity_id, reported, witness, foja.attempt_number(payload));
    if a.entity_id is null then
        perform foja.refuse('precondition_failed:not_asked', format('%s of %s has no such attempt', reported, witness));
    elsif outcome = 'confirmed' then
        perform foja.track_confirmation(new, payload, a);
    elsif outcome in ('failed', 'timeout') then
        perform foja.track_failure(payload, a);
    else
        perform foja.track_submission(new, a);
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

-- `artifact.finalized`: once, when everything that the last request requires was confirmed before it was built.
create function foja.track_finalization(new foja.event, payload jsonb, d foja.document) returns void
language plpgsql as $$
declare
    a foja.attempt;
    problem text := foja.artifact_problem(payload);
begin
    perform foja.check_live(d);
    if problem is not null then
        perform foja.refuse('bad_payload', problem);
    elsif payload ->> 'verdict' <> 'TOTAL_PASSED' then
        perform foja.refuse('bad_payload', format('an artifact is final only if the judge passes it, not with %s',
            payload ->> 'verdict'));
    end if;
    perform foja.check_turn(d, 'artifact', d.witness_hash);
    a := foja.find_attempt(new.entity_id, 'artifact', d.witness_hash, foja.attempt_number(payload));
    if a.entity_id is null or a.state <> 'open' or a.witness_hash <> d.witness_hash
            or a.asked_seq <= d.requested_seq then
        perform foja.refuse('attempt_not_open', 'no attempt at the artifact is open');
    end if;
    perform foja.end_attempt(a, 'confirmed');
    update foja.document set finalized = true, renew_before = foja.moment(payload ->> 'renew_before')
    where entity_id = new.entity_id;
    perform foja.plan_renewals(new.tenant);
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

-- Events about the document itself.
create function foja.track_lifecycle(new foja.event, payload jsonb, d foja.document) returns void
language plpgsql as $$
begin
    if new.kind = 'document.added' then
        if d.added_seq is distinct from new.seq then
            perform foja.refuse('already_added', format('document.added must be the first event of %s', d.entity_id));
        elsif not foja.is_hash(payload ->> 'sha256') then
            perform foja.refuse('bad_payload', 'sha256 must be 64 hexadecimal digits in lower case');
        end if;
        perform foja.index_document(new.entity_id, new.tenant, new.at, payload ->> 'name', payload ->> 'sha256');
    elsif d.closed = 'archived' or d.closed is not null and new.kind <> 'document.archived' then
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

-- Apply one event to the tables beside the events, or refuse it.
create function foja.apply_document_event(new foja.event) returns void
language plpgsql as $$
declare
    d foja.document;
    payload jsonb := new.payload;
begin
    if new.seq > 0 then
        select * into d from foja.document where entity_id = new.entity_id;
    end if;
    if d.entity_id is null then
        -- One insert with everything that `document.added` names, instead of an insert and an update.
        insert into foja.document (entity_id, tenant, added_seq, witness_hash, witness_status, predecessor)
        values (new.entity_id, new.tenant, case new.kind when 'document.added' then new.seq end,
            case new.kind when 'document.added' then payload ->> 'sha256' end,
            case new.kind when 'document.added' then 'ready' else 'missing' end,
            case new.kind when 'document.added' then foja.as_uuid(payload ->> 'predecessor') end)
        returning * into d;
    end if;
    if payload -> 'witness_hash' is not null and not foja.is_hash(payload ->> 'witness_hash') then
        perform foja.refuse('bad_payload', 'witness_hash must be a SHA-256 digest: 64 hexadecimal digits in lower case');
    elsif new.kind = 'document.protected.requested' then
        perform foja.track_request(new, payload, d);
    elsif new.kind like 'document.%' then
        perform foja.track_lifecycle(new, payload, d);
    elsif new.kind like 'job.%' then
        perform foja.track_attempt(new, payload, d);
    elsif new.kind = 'protection.retry.requested' then
        perform foja.check_retry(payload, d);
    elsif new.kind = 'artifact.finalized' then
        perform foja.track_finalization(new, payload, d);
    elsif new.kind = 'artifact.renewed' then
        if not d.finalized then
            perform foja.refuse('precondition_failed:not_final', 'only a final artifact can be renewed');
        elsif foja.artifact_problem(payload) is not null then
            perform foja.refuse('bad_payload', foja.artifact_problem(payload));
        end if;
        update foja.document set renew_before = foja.moment(payload ->> 'renew_before') where entity_id = new.entity_id;
    else
        perform foja.track_attempt_end(new, payload, d);
    end if;
end $$;

create function foja.track_document(new foja.event) returns void
language plpgsql as $$
begin
    perform foja.apply_document_event(new);
    if new.kind = 'document.protected.requested' then
        perform foja.check_ability((new.payload -> 'required_evidence')::jsonb);
    elsif new.kind = 'document.added' and new.payload ->> 'predecessor' is not null then
        perform foja.check_predecessor(new, new.payload ->> 'predecessor');
    end if;
end $$;

create function foja.track_documents(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
begin
    if not p_at_head then
        perform foja.refuse('bad_reservation', 'a document has no reserved numbers; append without a number');
    elsif foja.track_together(p_entity, p_seq) is null then
        perform foja.track_document(new) from foja.events_at(p_entity, p_seq) new;
    end if;
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
            perform foja.apply_document_event(old);
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
