-- Storing an object: an intent, then the bytes, then the object is live. All of it can be repeated.

create function foja.object_path(p_sha256 text, p_generation integer) returns text
language sql immutable parallel safe
return 'objects/' || p_sha256 || '/' || p_generation;

-- The generation to write the bytes of this digest to: the open one, or a new one.
create function foja.begin_object_v1(p_sha256 text, p_size bigint) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    number integer;
begin
    loop
        select o.generation into number from foja.object o where o.sha256 = p_sha256 and o.state in ('intent', 'live');
        exit when number is not null;
        insert into foja.object (sha256, generation, state, size)
        select p_sha256, coalesce(max(o.generation) + 1, 0), 'intent', p_size from foja.object o where o.sha256 = p_sha256
        on conflict do nothing returning generation into number;  -- nothing: another upload was first
        exit when number is not null;
    end loop;
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
