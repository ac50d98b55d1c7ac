-- What a domain keeps beside its events, and what it refuses because of it. Whatever records an event of a `tracked`
-- kind calls this in the same transaction. The guard of a domain is set by this schema only.

-- These events, in the order given. Each is looked up by itself: joined, the plan of a session that began while there were
-- few events would read all of them each time.
create function foja.events_at(p_entity uuid[], p_seq bigint[]) returns setof foja.event
language sql stable as $$
    select v.* from unnest(p_entity, p_seq) u(entity_id, seq)
    cross join lateral (select * from foja.event e where e.entity_id = u.entity_id and e.seq = u.seq offset 0) v;
$$;

-- `p_at_head`: the events got the next numbers of their streams, not numbers that were reserved before. Returns a number
-- for each event, which its receipt carries, or null: most guards have nothing to return.
create function foja.track(p_domain text, p_entity uuid[], p_seq bigint[], p_at_head boolean default true) returns integer[]
language plpgsql
-- The guards find their events by index, in the order given.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    results integer[];
begin
    execute format('select foja.%I($1, $2, $3)', (select d.guard from foja.domain d where d.domain = p_domain))
    into results using p_entity, p_seq, p_at_head;
    return results;
end $$;
