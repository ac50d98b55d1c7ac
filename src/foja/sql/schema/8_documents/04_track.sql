-- The guards of every document's event, in its own transaction, for one event and for many.

-- `*.confirmed`: after a request, for an attempt that is open or says that it is late, once.
create function foja.track_confirmation(new foja.event, said jsonb, a foja.attempt) returns void
language plpgsql as $$
begin
    if foja.is_confirmed(a.entity_id, a.evidence, a.witness_hash) then
        perform foja.refuse('already_confirmed', format('%s of %s is confirmed', a.evidence, a.witness_hash));
    elsif a.state <> 'open' and said -> 'late' is distinct from 'true' then
        perform foja.refuse('attempt_not_open', format('attempt %s of %s has ended', a.attempt, a.evidence));
    elsif new.kind = 'tsa.confirmed' and (said ->> 'token_b64' = '' or foja.moment(said ->> 'gen_time') is null)
            or new.kind = 'anchor.confirmed' and foja.moment(said ->> 'confirmed_at') is null then
        perform foja.refuse('bad_payload', format('%s needs its proof, and a time that is one', new.kind));
    end if;
    perform foja.end_attempt(a, 'confirmed');
end $$;

-- `*.failed`, `anchor.timeout`: once, for what is open; a chain may take a confirmation back.
create function foja.track_failure(said jsonb, a foja.attempt) returns void
language plpgsql as $$
declare
    taken_back boolean := said ->> 'failure_code' = 'reorged' and a.evidence in ('polygon', 'bitcoin', 'rekor');
begin
    if a.state <> (case when taken_back then 'confirmed' else 'open' end) then
        perform foja.refuse('attempt_not_open', format('attempt %s of %s has ended', a.attempt, a.evidence));
    end if;
    perform foja.end_attempt(a, case when taken_back then 'reorged' else 'failed' end);
    if taken_back then
        perform foja.drop_artifact(a.entity_id, 'its evidence was taken back');
    end if;
end $$;

-- What a worker or the sweeper says about an attempt.
create function foja.track_attempt_end(new foja.event, said jsonb, d foja.document) returns void
language plpgsql as $$
declare
    room text := split_part(new.kind, '.', 1);
    word text := split_part(new.kind, '.', 2);
    about text := case room when 'anchor' then said ->> 'network' else room end;
    witness text := said ->> 'witness_hash';
    a foja.attempt;
begin
    if room = 'anchor' then
        perform foja.check_network(about, new.kind, new.source);
    end if;
    if d.requested_seq is null then
        perform foja.refuse('precondition_failed:missing_request', 'nobody asked for protection');
    elsif about not in ('tsa', 'artifact') and not foja.is_confirmed(new.entity_id, 'tsa', witness) then
        perform foja.refuse('precondition_failed:missing_tsa_for_witness_hash', format('%s has no timestamp', witness));
    end if;
    a := foja.find_attempt(new.entity_id, about, witness, foja.attempt_number(said));
    if a.entity_id is null then
        perform foja.refuse('precondition_failed:not_asked', format('nobody asked for this %s of %s', about, witness));
    elsif word = 'confirmed' then
        perform foja.track_confirmation(new, said, a);
    elsif word in ('failed', 'timeout') then
        perform foja.track_failure(said, a);
    elsif a.state <> 'open' then
        perform foja.refuse('attempt_not_open', format('attempt %s of %s has ended', a.attempt, a.evidence));
    end if;
end $$;

-- Why these cannot be the words about an artifact, or null.
create function foja.artifact_problem(said jsonb) returns text
language sql stable
return case when not foja.is_hash(said ->> 'sha256') then 'sha256 is 64 hexadecimal digits in lower case'
    when (said ->> 'size')::numeric < 0 or (said ->> 'size')::numeric <> trunc((said ->> 'size')::numeric)
        then 'size is a number of bytes'
    when said ->> 'renew_before' is not null and foja.moment(said ->> 'renew_before') is null
        then 'renew_before is a moment'
    when said ->> 'profile' = '' then 'profile says how it is written'
    when said ->> 'verdict' not in ('TOTAL_PASSED', 'INDETERMINATE', 'TOTAL_FAILED')
        then 'verdict is TOTAL_PASSED, INDETERMINATE or TOTAL_FAILED' end;

-- `artifact.finalized`: once, for what the last request asks for, all of it confirmed before it was built.
create function foja.track_finalization(new foja.event, said jsonb, d foja.document) returns void
language plpgsql as $$
declare
    a foja.attempt;
    problem text := foja.artifact_problem(said);
begin
    perform foja.check_live(d);
    if problem is not null then
        perform foja.refuse('bad_payload', problem);
    end if;
    perform foja.check_turn(d, 'artifact', d.witness_hash);
    a := foja.find_attempt(new.entity_id, 'artifact', d.witness_hash, foja.attempt_number(said));
    if a.entity_id is null or a.state <> 'open' or a.witness_hash <> d.witness_hash
            or a.asked_seq <= d.requested_seq then
        perform foja.refuse('attempt_not_open', 'no attempt at the artifact is open');
    end if;
    perform foja.end_attempt(a, 'confirmed');
    update foja.document set finalized = true, renew_before = foja.moment(said ->> 'renew_before')
    where entity_id = new.entity_id;
    -- Whoever has artifacts has somebody who looks after them every day.
    insert into foja.tick (name, type, every, due, tenant)
    values ('renew_artifacts:' || new.tenant, 'renew_artifacts', '1 day', clock_timestamp() + '1 day', new.tenant)
    on conflict do nothing;
end $$;

-- What people and programs say about the document itself.
create function foja.track_lifecycle(new foja.event, said jsonb, d foja.document) returns void
language plpgsql as $$
begin
    if new.kind = 'document.added' then
        if d.added_seq is distinct from new.seq then
            perform foja.refuse('already_added', format('%s has a history already', d.entity_id));
        elsif not foja.is_hash(said ->> 'sha256') then
            perform foja.refuse('bad_payload', 'sha256 is 64 hexadecimal digits in lower case');
        end if;
    elsif d.closed = 'archived' or d.closed is not null and new.kind <> 'document.archived' then
        perform foja.refuse('document_closed', format('%s was %s', d.entity_id, d.closed));
    elsif new.kind in ('document.revoked', 'document.archived') then
        update foja.document set closed = split_part(new.kind, '.', 2) where entity_id = new.entity_id;
        perform foja.drop_artifact(new.entity_id, new.kind);
    end if;
end $$;

create function foja.as_uuid(word text) returns uuid
language sql immutable parallel safe
return case when word ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then word::uuid end;

-- A new version names a document that is there. Not asked again when events are replayed: the order may be another.
create function foja.check_predecessor(new foja.event, p_named text) returns void
language plpgsql stable as $$
begin
    if not exists (select from foja.entity e where e.entity_id = foja.as_uuid(p_named) and e.entity_id <> new.entity_id
            and e.domain = 'document' and e.tenant = new.tenant) then
        perform foja.refuse('unknown_entity', format('there is no document %s to be the predecessor', p_named));
    end if;
end $$;

-- Take one event into what stands beside the events, or refuse it.
create function foja.apply_document_event(new foja.event) returns void
language plpgsql as $$
declare
    d foja.document;
    said jsonb := new.payload;
begin
    if new.seq > 0 then
        select * into d from foja.document where entity_id = new.entity_id;
    end if;
    if d.entity_id is null then
        -- What is added is written at once, not corrected a moment later.
        insert into foja.document (entity_id, tenant, added_seq, witness_hash, predecessor)
        values (new.entity_id, new.tenant, case new.kind when 'document.added' then new.seq end,
            case new.kind when 'document.added' then said ->> 'sha256' end,
            case new.kind when 'document.added' then foja.as_uuid(said ->> 'predecessor') end)
        returning * into d;
    end if;
    if said -> 'witness_hash' is not null and not foja.is_hash(said ->> 'witness_hash') then
        perform foja.refuse('bad_payload', 'witness_hash is a SHA-256 digest: 64 hexadecimal digits in lower case');
    elsif new.kind = 'document.protected.requested' then
        perform foja.track_request(new, said, d);
    elsif new.kind like 'document.%' then
        perform foja.track_lifecycle(new, said, d);
    elsif new.kind like 'job.%' then
        perform foja.track_attempt(new, said, d);
    elsif new.kind = 'protection.retry.requested' then
        perform foja.check_retry(said, d);
    elsif new.kind = 'artifact.finalized' then
        perform foja.track_finalization(new, said, d);
    elsif new.kind = 'artifact.renewed' then
        if not d.finalized then
            perform foja.refuse('precondition_failed:not_final', 'only what is final is renewed');
        elsif foja.artifact_problem(said) is not null then
            perform foja.refuse('bad_payload', foja.artifact_problem(said));
        end if;
        update foja.document set renew_before = foja.moment(said ->> 'renew_before') where entity_id = new.entity_id;
    else
        perform foja.track_attempt_end(new, said, d);
    end if;
end $$;

create function foja.track_document(new foja.event, p_at_head boolean) returns void
language plpgsql as $$
begin
    if not p_at_head then
        perform foja.refuse('bad_reservation', 'a document is written at its head; leave the number out');
    end if;
    perform foja.apply_document_event(new);
    if new.kind = 'document.protected.requested' then
        perform foja.check_ability((new.payload -> 'required_evidence')::jsonb);
    elsif new.kind = 'document.added' and new.payload ->> 'predecessor' is not null then
        perform foja.check_predecessor(new, new.payload ->> 'predecessor');
    end if;
end $$;

-- What stands beside the events of a stream.
create function foja.tracked(p_entity uuid) returns jsonb
language sql stable
return jsonb_build_array((select to_jsonb(d) from foja.document d where d.entity_id = p_entity),
    (select jsonb_agg(to_jsonb(a) order by a.asked_seq) from foja.attempt a where a.entity_id = p_entity));

-- Make it again from the events, under the lock of the stream; returns whether it was something else.
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
    for old in select v.* from foja.entity e join foja.event v using (entity_id)
        where e.entity_id = p_entity and e.domain = 'document' and v.kind not in ('slot.voided', 'body.erased')
        order by v.seq
    loop
        if old.payload is null then  -- erased: only that it was added is left
            insert into foja.document (entity_id, tenant, added_seq) values (old.entity_id, old.tenant, old.seq);
        else
            perform foja.apply_document_event(old);
        end if;
    end loop;
    return before is distinct from foja.tracked(p_entity);
end $$;

-- The same for many, each locked in turn; returns those that were something else.
create function foja.rebuild_documents(p_entities uuid[]) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('protect-document-v2');
    return query select each.entity_id from (select unnest(p_entities) as entity_id order by 1 offset 0) each
    where foja.rebuild_document(each.entity_id);
end $$;
