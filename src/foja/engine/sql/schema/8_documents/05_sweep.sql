-- Attempts past their deadline are closed under the lock of their stream.

-- The kind and the payload of the event that ends an attempt at its deadline.
create function foja.timeout_kind(p_evidence text) returns text
language sql immutable parallel safe
return case when p_evidence in ('tsa', 'artifact') then p_evidence || '.failed' else 'anchor.timeout' end;

create function foja.timeout_payload(a foja.attempt) returns jsonb
language sql stable
return jsonb_build_object('witness_hash', a.witness_hash, 'attempt', a.attempt, 'reason', 'the deadline has passed')
    || case when a.evidence in ('tsa', 'artifact') then jsonb_build_object('failure_code', 'timeout')
        else jsonb_build_object('network', a.evidence, 'limit', a.deadline) end;

-- Wake the executors of documents with failed evidence that has attempts left and none open, as after the limit was
-- raised: no event would wake them. Return how many. `p_attempts` maps evidence to its limit; the events of grants say
-- which attempts count.
create function foja.wake_stalled(p_attempts jsonb, p_limit integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    stalled uuid[];
begin
    perform foja.check_source('sweeper');
    select array_agg(f.entity_id) into stalled from (
        select distinct a.entity_id from foja.attempt a
        join foja.document d on d.entity_id = a.entity_id and not d.finalized and d.closed is null
        join foja.ability y on y.evidence = a.evidence
        join foja.entity e on e.entity_id = a.entity_id and e.awake is null
        where a.state in ('failed', 'reorged')
            and (a.evidence = 'artifact' or a.witness_hash = d.witness_hash and a.evidence = any (d.required_evidence))
            and (select not bool_or(b.state in ('open', 'confirmed')) and count(*) filter (where b.asked_seq > coalesce(
                        (select max(v.seq) from foja.event v where v.entity_id = a.entity_id
                            and v.kind = 'protection.retry.requested' and v.payload ->> 'evidence' = a.evidence), -1))
                    < (p_attempts ->> a.evidence)::integer
                from foja.attempt b where b.entity_id = a.entity_id and b.evidence = a.evidence
                    and (b.witness_hash = a.witness_hash or a.evidence = 'artifact'))
        limit p_limit
    ) f;
    if stalled is not null then
        perform from foja.entity e where e.entity_id = any (stalled) order by e.entity_id for no key update;
        update foja.entity e set awake = e.sealed where e.entity_id = any (stalled) and e.awake is null;
        perform foja.wake(stalled);
    end if;
    return coalesce(cardinality(stalled), 0);
end $$;

-- Close open attempts past their deadline and cancel their jobs; returns the streams. Attempts of a paused job type
-- wait until it is resumed. None of their rows is read: there may be many.
create function foja.expire_attempts(p_limit integer) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    due foja.attempt;
    late foja.attempt;
begin
    perform foja.check_source('sweeper');
    for due in
        select * from (
            select a.* from unnest(array['tsa', 'polygon', 'bitcoin', 'rekor', 'artifact']) each (evidence)
            join foja.job_type t on t.type = foja.job_of(each.evidence) and not t.paused
            cross join lateral (
                select * from foja.attempt a
                where a.evidence = each.evidence and a.state = 'open' and a.deadline <= clock_timestamp()
                order by a.deadline limit p_limit
            ) a order by a.deadline limit p_limit
        ) oldest order by oldest.entity_id, oldest.asked_seq
    loop
        perform from foja.entity e where e.entity_id = due.entity_id for no key update skip locked;
        continue when not found;  -- another session holds the stream: later
        -- A statement of its own: it sees what was committed before the lock was granted.
        select * into late from foja.attempt a where a.entity_id = due.entity_id and a.evidence = due.evidence
            and a.witness_hash = due.witness_hash and a.attempt = due.attempt and a.state = 'open';
        if late.entity_id is not null then
            perform foja.append_event(late.entity_id, 'document', foja.timeout_kind(late.evidence),
                foja.timeout_payload(late), 'sweeper', tenant => late.tenant);
            perform foja.cancel_keys(
                late.entity_id, foja.job_of(late.evidence), array[late.asked_seq::text], 'timeout');
            return next late.entity_id;
        end if;
    end loop;
end $$;
