-- Sealing: what was recorded out of order becomes a chained prefix, in order.

-- Seal the contiguous run of one stream, at most `p_limit` events; returns how many.
create function foja.seal(p_entity uuid, p_limit integer) returns bigint
language plpgsql as $$
declare
    e foja.entity;
    run bigint;
    link bytea;
    wakes boolean;
begin
    select * into e from foja.entity where entity_id = p_entity for no key update;
    with next as (
        select seq, event_id, kind, v, at, body_hash, row_number() over (order by seq) as place
        from foja.event where entity_id = p_entity and seq >= e.sealed order by seq limit p_limit
    ), chained as (
        select seq, kind, v, foja.chain(e.head, p_entity, seq, event_id, kind, at, body_hash)
            over (order by seq) as chain_hash
        from next where seq = e.sealed + place - 1
    ), outbox as (
        insert into foja.pending (entity_id, seq, chain_hash)
        select array_agg(p_entity), array_agg(seq order by seq), array_agg(chain_hash order by seq)
        from chained having count(*) > 0
    )
    select count(*), (array_agg(c.chain_hash order by c.seq desc))[1], bool_or(k.wakes) into run, link, wakes
    from chained c left join foja.kind k on k.domain = e.domain and k.kind = c.kind and k.v = c.v;
    delete from foja.unsealed where entity_id = p_entity and seq < e.sealed + run;
    delete from foja.slot where entity_id = p_entity and seq < e.sealed + run;
    if run > 0 then
        update foja.entity set sealed = e.sealed + run, head = link,
            awake = case when awake is null and wakes then e.sealed else awake end
        where entity_id = p_entity;
    end if;
    if wakes and e.awake is null then
        insert into foja.woken (entity_id) values (array[p_entity]);
    end if;
    return run;
end $$;

-- Seal every stream whose next number is there, a bounded number of them; not one that another session holds.
create function foja.seal_ready(p_streams integer, p_limit integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    stream uuid;
    run bigint;
    total bigint := 0;
begin
    perform foja.check_source('sweeper');
    for stream in
        select free.entity_id from (
            select u.entity_id, min(u.seq) as seq from foja.unsealed u group by u.entity_id order by u.entity_id
        ) waiting cross join lateral (
            select e.entity_id from foja.entity e where e.entity_id = waiting.entity_id and waiting.seq <= e.sealed
            for no key update skip locked
        ) free limit p_streams
    loop
        run := foja.seal(stream, p_limit);
        total := total + run;
    end loop;
    return total;
end $$;
