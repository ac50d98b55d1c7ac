-- What a domain keeps beside its events, and what it refuses because of it. Whatever records an event of a `tracked`
-- kind calls this in the same transaction. The guard of a domain is set by this schema only.

-- `p_at_head`: the events got the next numbers of their streams, not numbers that were reserved before.
create function foja.track(p_domain text, p_entity uuid[], p_seq bigint[], p_at_head boolean default true) returns void
language plpgsql
-- The guards find their events by index, in the order given.
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    execute format('select foja.%I($1, $2, $3)', (select d.guard from foja.domain d where d.domain = p_domain))
    using p_entity, p_seq, p_at_head;
end $$;
