-- What lists show. It decides nothing: the executor writes it for the events it read.

-- Write rows, unless newer ones are there; with `p_anyway`, as a replay does, also over those.
create function foja.write_summaries(
    p_entity uuid[], p_state text[], p_pipeline text[], p_lifecycle text[], p_witness text[], p_length bigint[],
    p_began timestamptz[], p_anyway boolean default false
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('protect-document-v2');
    insert into foja.document_summary as old
    select u.entity_id, e.tenant, u.state, u.pipeline, u.lifecycle, u.witness, u.length, u.began
    from unnest(p_entity, p_state, p_pipeline, p_lifecycle, p_witness, p_length, p_began)
        u(entity_id, state, pipeline, lifecycle, witness, length, began)
    join foja.entity e on e.entity_id = u.entity_id and e.domain = 'document'
    order by u.entity_id
    on conflict (entity_id) do update
    set state = excluded.state, pipeline = excluded.pipeline, lifecycle_status = excluded.lifecycle_status,
        witness_hash = excluded.witness_hash, length = excluded.length, began_at = excluded.began_at
    where old.length < excluded.length or p_anyway;
end $$;
