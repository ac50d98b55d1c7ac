-- The guards for a batch of events of one kind, each of its own document: few statements instead of many calls. Each
-- function returns false, and writes nothing, if one of the events may be refused or does more than usual: then each event
-- is tracked by itself, which says what is refused. Attempts and jobs are looked up for one document at a time, never
-- joined: a plan that was made while the tables were empty would read them whole.

-- Whether so many documents were found as there are events, and none twice.
create function foja.is_each_once(p_documents uuid[], p_seq bigint[]) returns boolean
language plpgsql immutable parallel safe as $$
begin
    return cardinality(p_documents) is not distinct from cardinality(p_seq)
        and (select count(distinct d) from unnest(p_documents) d) = cardinality(p_seq);
end $$;

-- `tsa.confirmed` of the only open attempt, whose job has ended.
create function foja.confirm_timestamps(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    documents uuid[];
begin
    select array_agg(new.entity_id) into documents
    from unnest(p_entity, p_seq) u(entity_id, seq) join foja.event new using (entity_id, seq)
    join foja.document d on d.entity_id = new.entity_id
    cross join lateral (select p ->> 'witness_hash' as witness, p ->> 'attempt' as attempt,
            foja.moment(p ->> 'gen_time') as gen_time,
            p ->> 'token_b64' <> '' and (p ? 'blinding_b64') = (p ? 'path_b64') as complete
        from (select new.payload::jsonb as p offset 0) body offset 0) w
    where new.kind = 'tsa.confirmed' and d.requested_seq is not null and w.complete
        and w.gen_time <= new.at + interval '5 minutes'
        and (select count(*) = 1 and bool_and(a.state = 'open' and a.witness_hash = w.witness and a.attempt::text = w.attempt
                and (select j.state = 'succeeded' from foja.job j where j.entity_id = a.entity_id and j.type = 'run_tsa'
                    and j.dedupe_key = a.asked_seq::text))
            from foja.attempt a where a.entity_id = new.entity_id and a.evidence = 'tsa' and a.state in ('open', 'confirmed'));
    if not foja.is_each_once(documents, p_seq) then
        return false;
    end if;
    update foja.attempt a set state = 'confirmed'
    where a.entity_id = any (documents) and a.evidence = 'tsa' and a.state = 'open';
    return true;
end $$;

-- `artifact.finalized` of the only open attempt, whose job has ended, when everything that is required was confirmed.
create function foja.finalize_documents(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    documents uuid[];
    renewals timestamptz[];
    due record;
begin
    select array_agg(new.entity_id), array_agg(w.renew_before) into documents, renewals
    from unnest(p_entity, p_seq) u(entity_id, seq) join foja.event new using (entity_id, seq)
    join foja.document d on d.entity_id = new.entity_id
    cross join lateral (select p ->> 'witness_hash' as witness, p ->> 'attempt' as attempt,
            foja.moment(p ->> 'renew_before') as renew_before,
            p ->> 'verdict' = 'TOTAL_PASSED' and foja.artifact_problem(p) is null as passed
        from (select new.payload::jsonb as p offset 0) body offset 0) w
    where new.kind = 'artifact.finalized' and w.passed and w.witness = d.witness_hash
        and not d.finalized and d.closed is null and d.witness_status <> 'required'
        and foja.is_required(d, 'tsa', d.witness_hash) and foja.stage_rank(d.stage) = 3
        and (select count(*) = cardinality(d.required_evidence) from foja.attempt a where a.entity_id = new.entity_id
            and a.evidence = any (d.required_evidence) and a.witness_hash = d.witness_hash and a.state = 'confirmed')
        and (select count(*) = 1 and bool_and(a.state = 'open' and a.witness_hash = w.witness and a.attempt::text = w.attempt
                and a.asked_seq > d.requested_seq
                and (select j.state = 'succeeded' from foja.job j where j.entity_id = a.entity_id
                    and j.type = 'build_artifact' and j.dedupe_key = a.asked_seq::text))
            from foja.attempt a where a.entity_id = new.entity_id and a.evidence = 'artifact'
                and a.state in ('open', 'confirmed'));
    if not foja.is_each_once(documents, p_seq) then
        return false;
    end if;
    update foja.attempt a set state = 'confirmed'
    where a.entity_id = any (documents) and a.evidence = 'artifact' and a.state = 'open';
    for due in select r.renew_before, array_agg(r.document) as documents from unnest(documents, renewals) r(document, renew_before)
        group by r.renew_before
    loop  -- mostly once: the certificates of an authority expire at one time
        update foja.document d set finalized = true, renew_before = due.renew_before where d.entity_id = any (due.documents);
    end loop;
    perform foja.plan_renewals(t.tenant) from (select distinct d.tenant from foja.document d where d.entity_id = any (documents)) t;
    return true;
end $$;

-- Track a batch of events together; returns their kind, or null if each has to be tracked by itself.
create function foja.track_together(p_entity uuid[], p_seq bigint[]) returns text
language plpgsql as $$
declare
    first text;
    last text;
begin
    if cardinality(p_seq) = 1 then
        return null;
    end if;
    select min(e.kind), max(e.kind) into first, last
    from unnest(p_entity, p_seq) u(entity_id, seq) join foja.event e using (entity_id, seq);
    if first like 'job.%' then
        return case when foja.open_attempts(p_entity, p_seq) then first end;
    elsif first <> last then
        return null;
    end if;
    return case first when 'tsa.confirmed' then case when foja.confirm_timestamps(p_entity, p_seq) then first end
        when 'artifact.finalized' then case when foja.finalize_documents(p_entity, p_seq) then first end end;
end $$;
