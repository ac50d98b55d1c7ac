-- What a domain keeps beside its events, and what it refuses because of it. Whatever records an event of a `tracked`
-- kind calls this in the same transaction. The guard of a domain is set by this schema only.

-- `p_at_head`: the events got the next numbers of their streams, not numbers that were reserved before.
create function foja.track(p_domain text, p_entity uuid[], p_seq bigint[], p_at_head boolean default true) returns void
language plpgsql as $$
begin
    execute format('select foja.%I(new, $3) from unnest($1, $2) u(entity_id, seq) join foja.event new using (entity_id, seq)',
        (select d.guard from foja.domain d where d.domain = p_domain)) using p_entity, p_seq, p_at_head;
end $$;
