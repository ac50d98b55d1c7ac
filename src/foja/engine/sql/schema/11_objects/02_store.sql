-- Storing an object: an intent, then the bytes, then the object is live. All of it can be repeated.

create function foja.object_path(p_sha256 text, p_generation integer) returns text
language sql immutable parallel safe
return 'objects/' || p_sha256 || '/' || p_generation;

-- The generation to write the bytes of this digest to: the open one, or a new one. Its tenant has the bytes: only the role of
-- the process that hashed them may say so, since who knows a digest alone may not refer to an object.
create function foja.begin_object_v1(p_sha256 text, p_size bigint, p_tenant text default foja.acting_tenant()) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    number integer;
    first text;
begin
    perform foja.check_source('api');  -- the role of operators; no other one that may call it passes
    loop
        select o.generation, o.tenant into number, first from foja.object o
        where o.sha256 = p_sha256 and o.state in ('intent', 'live');
        exit when number is not null;
        insert into foja.object (sha256, generation, state, size, tenant)
        select p_sha256, coalesce(max(o.generation) + 1, 0), 'intent', p_size, p_tenant
        from foja.object o where o.sha256 = p_sha256
        on conflict do nothing returning generation, tenant into number, first;  -- nothing: another upload was first
        exit when number is not null;
    end loop;
    if first is distinct from p_tenant then
        insert into foja.object_upload values (p_sha256, p_tenant, number) on conflict do nothing;
    end if;
    return number;
end $$;

-- The bytes are in the store. False if this generation is not open any more: the bytes need another one.
create function foja.finish_object_v1(p_sha256 text, p_generation integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update foja.object o set state = 'live', changed_at = clock_timestamp()
    where o.sha256 = p_sha256 and o.generation = p_generation and o.state = 'intent';
    return found or exists (select from foja.object o
        where o.sha256 = p_sha256 and o.generation = p_generation and o.state = 'live');
end $$;
