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

-- These events need an object each, except where it is null. The rows of the objects stay locked to the end of the
-- transaction, so no purge can take one in between; in order, as others lock them. A candidate for deletion stops being one.
create function foja.refer_objects(
    p_entity uuid[], p_seq bigint[], p_tenant text[], p_sha256 text[], p_role text[], p_built_from uuid[] default null
) returns void
language plpgsql as $$
declare
    missing text;
    paths text[];
begin
    with wanted as materialized (
        select * from unnest(p_entity, p_seq, p_tenant, p_sha256, p_role, p_built_from)
            u(entity_id, seq, tenant, sha256, role, built_from) where u.sha256 is not null order by u.sha256
    ), held as materialized (
        select w.*, o.generation from wanted w left join lateral (select s.generation from foja.object s
            where s.sha256 = w.sha256 and s.state = 'live' and foja.may_refer(s, w.tenant) for share offset 0) o on true
    ), referred as (
        insert into foja.object_reference (entity_id, seq, sha256, generation, role, tenant, built_from)
        select h.entity_id, h.seq, h.sha256, h.generation, h.role, h.tenant, h.built_from from held h
        where h.generation is not null on conflict do nothing
    )
    select min(h.sha256) filter (where h.generation is null), array_agg(foja.object_path(h.sha256, h.generation))
    into missing, paths from held h;
    if missing is not null then
        perform foja.refuse('object_missing', format('the store has no object %s; store it again', missing));
    elsif exists (select from public.image_orphan_candidates c where c.path = any (paths)) then
        with back as (
            delete from public.image_orphan_candidates c where c.path = any (paths)
                and c.confirmed_deleted_at is null returning c.path, c.detected_at
        )
        insert into foja.unstaged (path, detected_at, false_positive)
        select b.path, b.detected_at, false from back b on conflict do nothing;
    end if;
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
