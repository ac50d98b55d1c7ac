-- References begin and end in the transaction of the event that is their reason.

-- Did this tenant store these bytes after another one, or does it refer to them?
create function foja.has_bytes(p_tenant text, p_sha256 text, p_generation integer) returns boolean
language sql stable
return exists (select from foja.object_upload u
        where u.sha256 = p_sha256 and u.tenant = p_tenant and u.generation = p_generation)
    or exists (select from foja.object_reference r
        where r.sha256 = p_sha256 and r.tenant = p_tenant and r.generation = p_generation);

-- May this tenant refer to an object? It stored the bytes itself, or refers to them already. Any other object is refused
-- like one that nobody has. The tenant that stored it first is found without another look-up.
create function foja.may_refer(o foja.object, p_tenant text) returns boolean
language sql stable
return o.tenant is not distinct from p_tenant or foja.has_bytes(p_tenant, o.sha256, o.generation);

-- The event `p_seq` of a stream needs this object. Its row stays locked to the end of the transaction, so no purge can
-- take it in between. A candidate stops being one.
create function foja.refer_object(
    p_entity uuid, p_seq bigint, p_tenant text, p_sha256 text, p_role text, p_built_from uuid default null
) returns void
language plpgsql as $$
declare
    live integer;
    path_of text;
begin
    select o.generation into live from foja.object o
    where o.sha256 = p_sha256 and o.state = 'live' and foja.may_refer(o, p_tenant) for share;
    if live is null then
        perform foja.refuse('object_missing', format('the store has no object %s; store it again', p_sha256));
    end if;
    insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant, built_from)
    values (p_entity, p_seq, p_sha256, live, p_role, p_tenant, p_built_from) on conflict do nothing;
    path_of := foja.object_path(p_sha256, live);
    if exists (select from public.image_orphan_candidates c where c.path = path_of) then
        with back as (
            delete from public.image_orphan_candidates c where c.path = path_of
                and c.confirmed_deleted_at is null returning c.path, c.detected_at
        )
        insert into foja.unstaged (path, detected_at, false_positive)
        select b.path, b.detected_at, false from back b on conflict do nothing;
    end if;
end $$;

-- The same for one object of each of these events; false, with nothing referred to, if their tenants differ, if one of the
-- objects is not there for their tenant, or is a candidate for deletion. The rows are locked either way, in order: others
-- do the same.
create function foja.refer_many(p_entity uuid[], p_seq bigint[], p_tenant text[], p_sha256 text[], p_role text) returns boolean
language plpgsql as $$
declare
    digests text[];
    generations integer[];
    paths text[];
begin
    select array_agg(l.sha256), array_agg(l.generation), array_agg('objects/' || l.sha256 || '/' || l.generation)
    into digests, generations, paths from (
        select o.sha256, o.generation from foja.object o where o.sha256 = any (p_sha256) and o.state = 'live'
            and foja.may_refer(o, p_tenant[1]) and p_tenant[1] = all (p_tenant)
        order by o.sha256 for share) l;
    if digests @> p_sha256 is not true or exists (select from public.image_orphan_candidates c where c.path = any (paths)) then
        return false;
    end if;
    insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant)
    select u.entity_id, u.seq, u.sha256, generations[array_position(digests, u.sha256)], p_role, u.tenant
    from unnest(p_entity, p_seq, p_sha256, p_tenant) u(entity_id, seq, sha256, tenant);
    return true;
end $$;

-- Say when these objects lost a reference. Locked in order: others do the same.
create function foja.release_objects(p_sha256 text[], p_generation integer[]) returns void
language plpgsql as $$
begin
    perform from foja.object o where (o.sha256, o.generation) in (select * from unnest(p_sha256, p_generation))
    order by o.sha256, o.generation for no key update;
    update foja.object o set released_at = clock_timestamp()
    where (o.sha256, o.generation) in (select * from unnest(p_sha256, p_generation));
end $$;

-- End the references that one event made.
create function foja.end_references(p_entity uuid, p_seq bigint) returns void
language plpgsql as $$
declare
    digests text[];
    generations integer[];
begin
    with ended as (
        delete from foja.object_reference r where r.entity_id = p_entity and r.seq = p_seq returning r.sha256, r.generation
    )
    select array_agg(e.sha256), array_agg(e.generation) into digests, generations from ended e;
    if digests is not null then
        perform foja.release_objects(digests, generations);
    end if;
end $$;

-- End all references of a stream. Those of its first event first: an event that builds on it waits for that row, and
-- a statement that follows sees the reference which it made.
create function foja.end_all_references(p_entity uuid) returns void
language plpgsql as $$
declare
    number bigint;
begin
    perform foja.end_references(p_entity, 0);
    for number in select distinct r.seq from foja.object_reference r where r.entity_id = p_entity order by 1 loop
        perform foja.end_references(p_entity, number);
    end loop;
end $$;
