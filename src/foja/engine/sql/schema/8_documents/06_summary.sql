-- What lists show. No rule reads it: the executor writes it for the events that it read.

-- Write rows, unless newer ones exist.
create function foja.write_summaries(
    p_entity uuid[], p_state text[], p_pipeline text[], p_lifecycle text[], p_witness text[], p_length bigint[],
    p_began timestamptz[], p_failed boolean[]
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('protect-document-v2');
    insert into foja.document_summary as old
    select u.entity_id, e.tenant, u.state, u.pipeline, u.lifecycle, u.witness, u.length, u.began, u.failed
    from unnest(p_entity, p_state, p_pipeline, p_lifecycle, p_witness, p_length, p_began, p_failed)
        u(entity_id, state, pipeline, lifecycle, witness, length, began, failed)
    -- Not joined: a planner that knows no sizes would read all streams of the domain.
    cross join lateral (select s.tenant, s.domain from foja.entity s where s.entity_id = u.entity_id offset 0) e
    where e.domain = 'document'
    order by u.entity_id
    on conflict (entity_id) do update
    set state = excluded.state, pipeline = excluded.pipeline, lifecycle_status = excluded.lifecycle_status,
        witness_hash = excluded.witness_hash, length = excluded.length, began_at = excluded.began_at, failed = excluded.failed
    where old.length < excluded.length;
end $$;

-- Replace rows by replay; returns for each whether it changed. A stream that grew since it was read is not returned:
-- read it again. The streams are locked, so that none grows meanwhile.
create function foja.rebuild_summaries(
    p_entity uuid[], p_state text[], p_pipeline text[], p_lifecycle text[], p_witness text[], p_length bigint[],
    p_began timestamptz[], p_failed boolean[]
) returns table (entity_id uuid, mended boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    whole uuid[];
    kept uuid[];
begin
    perform foja.check_source('protect-document-v2');
    perform from foja.entity e where e.entity_id = any (p_entity) order by e.entity_id for no key update;
    perform from foja.document_summary s where s.entity_id = any (p_entity) order by s.entity_id for update;
    select array_agg(u.entity_id), array_agg(u.entity_id) filter (where
        (s.state, s.pipeline, s.lifecycle_status, s.witness_hash, s.length, s.began_at, s.failed)
        is not distinct from (u.state, u.pipeline, u.lifecycle, u.witness, u.length, u.began, u.failed))
    into whole, kept
    from unnest(p_entity, p_state, p_pipeline, p_lifecycle, p_witness, p_length, p_began, p_failed)
        u(entity_id, state, pipeline, lifecycle, witness, length, began, failed)
    join foja.entity e on e.entity_id = u.entity_id and e.sealed = u.length
    left join foja.document_summary s on s.entity_id = u.entity_id;
    delete from foja.document_summary s where s.entity_id = any (whole) and s.entity_id <> all (coalesce(kept, '{}'));
    perform foja.write_summaries(p_entity, p_state, p_pipeline, p_lifecycle, p_witness, p_length, p_began, p_failed);
    return query select each, each <> all (coalesce(kept, '{}')) from unnest(whole) each;
end $$;

-- Whether evidence of a document has failed, and no attempt at it follows: its executor has seen everything.
create function foja.is_given_up(p_document uuid) returns boolean
language sql stable
return exists (select from foja.document d
    join foja.entity e on e.entity_id = d.entity_id and e.awake is null
    join foja.attempt a on a.entity_id = d.entity_id and a.state in ('failed', 'reorged')
        and (a.evidence = 'artifact' or a.witness_hash = d.witness_hash and a.evidence = any (d.required_evidence))
    where d.entity_id = p_document and not d.finalized and d.closed is null
        and not exists (select from foja.attempt b where b.entity_id = a.entity_id and b.evidence = a.evidence
            and (b.witness_hash = a.witness_hash or a.evidence = 'artifact') and b.state in ('open', 'confirmed')));

-- When the body of `document.added` is erased, its words, its digest and its predecessor go from here, too. The digest of a request
-- stays: its event names it, and the evidence is about it.
create function foja.forget_document() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    delete from foja.document_word w where w.entity_id = new.entity_id;
    update foja.document d set predecessor = null, witness_hash = case when d.requested_seq is not null then d.witness_hash end
    where d.entity_id = new.entity_id and d.added_seq = new.seq;
    update foja.document_summary s set witness_hash = null
    from foja.document d where d.entity_id = new.entity_id and s.entity_id = d.entity_id and d.witness_hash is null;
    return null;
end $$;

create trigger document_erased after update on foja.event for each row
    when (new.kind = 'document.added' and new.payload is null) execute function foja.forget_document();
alter table foja.event enable always trigger document_erased;
