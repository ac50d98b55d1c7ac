-- Checkpoints of the log are anchored by the same batches, so that one anchor covers every event.

-- Request an anchor of the newest published checkpoint, on each of these networks that is enabled and was asked last so
-- many seconds ago; returns how many. Not if the only new entries are of the installation's own stream: an idle installation
-- pays nothing.
create function foja.request_checkpoint_anchors_v1(p_networks text[], p_seconds double precision, p_tenant text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    c record;
    n foja.anchor_network;
    requested bigint := 0;
begin
    perform foja.check_source('sweeper');
    select k.origin, l.name, k.size, encode(sha256(convert_to(k.note, 'UTF8')), 'hex') as digest into c
    from foja.log l join foja.checkpoint k on k.origin = l.origin and k.published_at is not null
    where l.closed_size is null order by k.size desc limit 1;
    for n in
        select * from foja.anchor_network x where x.network = any (p_networks) and exists (select from foja.ability a where a.evidence = x.network)
            and (x.checkpoint_at is null or x.checkpoint_at <= clock_timestamp() - make_interval(secs => p_seconds))
        order by x.network for no key update skip locked
    loop
        continue when c.origin is null or not exists (
            select from foja.leaves_between(c.origin,
                case when n.checkpoint_origin = c.origin then n.checkpoint_size else 0 end, c.size) leaf
            where leaf.entity_id <> (select i.installation_id from foja.installation i));
        requested := requested + foja.insert_jobs(array[row('submit_anchor_' || n.network, i.installation_id, p_tenant,
                format('checkpoint:%s:%s', c.origin, c.size),
                jsonb_build_object('witness_hash', c.digest, 'origin', c.name, 'size', c.size,
                    'requested_at', clock_timestamp())::text, null, null, null, null)::foja.new_job])
        from foja.installation i;
        update foja.anchor_network x set checkpoint_origin = c.origin, checkpoint_size = c.size,
            checkpoint_at = clock_timestamp()
        where x.network = n.network;
    end loop;
    return requested;
end $$;

grant execute on function foja.request_checkpoint_anchors_v1 to foja_sweeper;
select foja.restrict_functions();
