-- Which objects a document needs: its bytes, or a transcript with its excerpt; its artifact and the renewals. The proofs of
-- anchors are in their events or derived from their batches: none is an object.

-- A number from a payload that fits a bigint, rounded; null for anything else.
create function foja.whole_number(value jsonb) returns bigint
language sql immutable parallel safe
return case when jsonb_typeof(value) = 'number' then
    case when (value #>> '{}')::numeric between 0 and 9007199254740991 then (value #>> '{}')::numeric::bigint end end;

-- What one event names; nothing if only the digest of the document is known.
create function foja.document_objects(p_kind text, payload jsonb)
returns table (sha256 text, role text, built_from uuid, size bigint)
language sql immutable parallel safe
begin atomic
    select n.sha256, n.role, n.built_from, n.size from (values
        (payload ->> 'sha256', case p_kind when 'artifact.finalized' then 'artifact' when 'artifact.renewed' then 'renewal'
                else case when payload ? 'transcript_of' then 'transcript' else 'document' end end,
            foja.as_uuid(payload #>> '{transcript_of,entity_id}'), foja.whole_number(payload -> 'size')),
        (payload ->> 'excerpt_sha256', 'excerpt', foja.as_uuid(payload #>> '{transcript_of,entity_id}'), null)
    ) n (sha256, role, built_from, size)
    where n.sha256 is not null and (p_kind in ('artifact.finalized', 'artifact.renewed') and n.role <> 'excerpt'
        or p_kind = 'document.added' and payload ->> 'custody' = 'stored');
end;

-- Whether a body that a transcript copied was erased since: the transcript has no notice of it. Nothing shows of a stream of
-- another tenant.
create function foja.is_outdated(transcript_of jsonb, p_tenant text) returns boolean
language sql stable
return exists (select from foja.event n where n.entity_id = foja.as_uuid(transcript_of ->> 'entity_id') and n.tenant = p_tenant
    and n.seq >= foja.whole_number(transcript_of -> 'events') and n.kind = 'body.erased'
    and foja.whole_number((n.payload -> 'seq')::jsonb) < foja.whole_number(transcript_of -> 'events'));

-- The references that the events of all documents lead to. A document whose `document.added` was erased has none, nor has
-- the transcript of a body that was erased.
create function foja.document_references()
returns table (entity_id uuid, seq bigint, sha256 text, role text, tenant text, built_from uuid, size bigint, at timestamptz)
language sql stable
begin atomic
    select v.entity_id, v.seq, o.sha256, o.role, v.tenant, o.built_from, o.size, v.at
    from foja.entity e join foja.event v on v.entity_id = e.entity_id
        and v.kind in ('document.added', 'artifact.finalized', 'artifact.renewed')
    cross join lateral foja.document_objects(v.kind, v.payload::jsonb) o
    where e.domain = 'document' and not exists (select from foja.event a where a.entity_id = e.entity_id and a.seq = 0
        and a.kind = 'document.added' and (a.payload is null or foja.is_outdated((a.payload -> 'transcript_of')::jsonb, a.tenant)));
end;

-- Whether a document is no transcript of another stream, or one of a stream as it is: otherwise it is refused. The stream is
-- locked, so that none of its bodies is erased meanwhile.
create function foja.is_transcribed(transcript_of jsonb, p_tenant text) returns boolean
language plpgsql as $$
begin
    if transcript_of is not null then
        perform from foja.entity e
        where e.entity_id = foja.as_uuid(transcript_of ->> 'entity_id') and e.tenant = p_tenant for share;
        if foja.is_outdated(transcript_of, p_tenant) then
            perform foja.refuse('object_missing', 'a body of the stream was erased since it was read; read it again');
        end if;
    end if;
    return true;
end $$;

-- Whether what is built from this document may be kept: not after its `document.added` was erased, and not after its
-- bytes lost their reference, as those of a transcript do. That reference stays locked.
create function foja.has_kept(p_entity uuid) returns boolean
language plpgsql as $$
declare
    added foja.event;
begin
    select * into added from foja.event e where e.entity_id = p_entity and e.seq = 0 and e.kind = 'document.added';
    if added.payload ->> 'custody' is distinct from 'stored' then
        return added.entity_id is null or added.payload is not null;
    end if;
    perform from foja.object_reference r where r.entity_id = p_entity and r.seq = 0 for share;
    return found;
end $$;

-- Refer to the objects that these events name, unless what they are built from was erased.
create function foja.refer_documents(p_entity uuid[], p_seq bigint[]) returns void
language plpgsql as $$
declare
    named record;
begin
    select array_agg(o.entity_id) as documents, array_agg(o.seq) as seqs, array_agg(o.tenant) as tenants,
        array_agg(o.sha256) as digests, array_agg(o.role) as roles, array_agg(o.built_from) as sources
    into named from (
        select e.entity_id, e.seq, e.tenant, n.*
        from (select * from foja.events_at(p_entity, p_seq) v
            where v.kind in ('document.added', 'artifact.finalized', 'artifact.renewed') offset 0) e
        cross join lateral (select e.payload::jsonb as p offset 0) body
        cross join lateral foja.document_objects(e.kind, body.p) n
        where case e.kind when 'document.added' then foja.is_transcribed(body.p -> 'transcript_of', e.tenant)
            else foja.has_kept(e.entity_id) end offset 0) o;
    if named.documents is not null then
        perform foja.refer_objects(named.documents, named.seqs, named.tenants, named.digests, named.roles, named.sources);
    end if;
end $$;

-- The guard of documents: what `track_documents` does, and the objects that the events need.
create function foja.guard_documents(p_entity uuid[], p_seq bigint[], p_at_head boolean) returns integer[]
language plpgsql as $$
begin
    perform foja.track_documents(p_entity, p_seq, p_at_head);
    perform foja.refer_documents(p_entity, p_seq);
    return null;
end $$;

-- An erased body ends the references of its event. With `document.added` go those of everything built from the document,
-- and with any body those of the transcripts that hold it.
create function foja.forget_objects() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    copy uuid;
begin
    if new.kind = 'document.added' then
        perform foja.end_all_references(new.entity_id);
    else
        perform foja.end_references(new.entity_id, new.seq);
    end if;
    for copy in
        select distinct r.entity_id from foja.object_reference r
        join foja.event a on a.entity_id = r.entity_id and a.seq = r.seq
        where r.built_from = new.entity_id and r.tenant = new.tenant
            and foja.whole_number((a.payload #> '{transcript_of,events}')::jsonb) > new.seq order by 1
    loop
        perform foja.end_all_references(copy);
    end loop;
    return null;
end $$;

create trigger object_erased after update on foja.event for each row
    when (new.payload is null) execute function foja.forget_objects();
alter table foja.event enable always trigger object_erased;

update foja.domain set guard = 'guard_documents' where domain = 'document';

-- Write what the events of these documents refer to: objects that have no row are taken for stored, as before this step.
create function foja.insert_references(p_entities uuid[]) returns setof uuid
language plpgsql as $$
begin
    insert into foja.object (sha256, generation, state, size, created_at, changed_at, tenant)
    select distinct on (r.sha256) r.sha256, 0, 'live', r.size, r.at, r.at, r.tenant from foja.document_references() r
    where r.entity_id = any (p_entities) and foja.is_hash(r.sha256)
        and not exists (select from foja.object o where o.sha256 = r.sha256)
    order by r.sha256, r.size, r.at
    on conflict do nothing;
    return query
    insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant, built_from, referred_at)
    select r.entity_id, r.seq, r.sha256, o.generation, r.role, r.tenant, r.built_from, r.at
    from foja.document_references() r join foja.object o on o.sha256 = r.sha256 and o.state = 'live'
    where r.entity_id = any (p_entities)
    on conflict do nothing returning entity_id;
end $$;

-- Write the references of these documents again from their events, each locked; returns those that changed.
create function foja.rebuild_references_v1(p_entities uuid[]) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('protect-document-v2');
    perform from foja.entity e where e.entity_id = any (p_entities) and e.domain = 'document'
    order by e.entity_id for no key update;
    return query
    delete from foja.object_reference r using foja.entity e
    where e.entity_id = any (p_entities) and e.domain = 'document' and r.entity_id = e.entity_id
        and not exists (select from foja.document_references() x
            where x.entity_id = r.entity_id and x.seq = r.seq and x.sha256 = r.sha256 and x.role = r.role)
    returning r.entity_id;
    return query select foja.insert_references(p_entities);
end $$;

-- Objects that were stored before this step.
select foja.insert_references(array(select e.entity_id from foja.entity e where e.domain = 'document'));
