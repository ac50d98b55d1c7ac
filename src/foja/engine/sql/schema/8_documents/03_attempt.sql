-- Attempts: opened once, ended once, confirmed at most once. Called under the stream's lock.

-- The job type of an evidence. The key of an attempt's job is the number of the event that requested it.
create function foja.job_of(p_evidence text) returns text
language sql immutable parallel safe
return case p_evidence when 'tsa' then 'run_tsa' when 'artifact' then 'build_artifact'
    else 'submit_anchor_' || p_evidence end;

create function foja.evidence_asked(p_kind text) returns text
language sql immutable parallel safe
return case p_kind when 'job.run-tsa.required' then 'tsa' when 'job.build-artifact.required' then 'artifact'
    else substring(p_kind from '^job\.submit-anchor-(\w+)\.required$') end;

-- The number of the attempt that a payload names, or null; a number that is not whole is refused, not rounded.
create function foja.attempt_number(payload jsonb) returns integer
language plpgsql immutable as $$
declare
    number numeric;
begin
    if payload -> 'attempt' is null then
        return null;
    elsif jsonb_typeof(payload -> 'attempt') = 'number' then
        number := (payload ->> 'attempt')::numeric;
        if number = trunc(number) and number between 1 and 1000000 then
            return number::integer;
        end if;
    end if;
    perform foja.refuse('bad_payload', 'attempt must be a whole number from 1 on');
end $$;

-- Why it is not the turn of an attempt at this evidence, or null. Only the last request counts.
create function foja.turn_problem(d foja.document, p_evidence text, p_witness text) returns text
language plpgsql stable as $$
declare
    missing text;
begin
    if not foja.is_required(d, case p_evidence when 'artifact' then 'tsa' else p_evidence end, p_witness) then
        return format('precondition_failed:missing_request: %s of %s is not required by the last request', p_evidence, p_witness);
    elsif p_evidence = 'artifact' then
        select string_agg(each, ', ') into missing from unnest(d.required_evidence) each
        where not exists (select from foja.attempt a where a.entity_id = d.entity_id and a.evidence = each
            and a.witness_hash = d.witness_hash and a.state = 'confirmed');
        if missing is not null or foja.stage_rank(d.stage) < 3 then
            return format('precondition_failed:missing_evidence: the artifact waits for %s', coalesce(missing, 'the final stage'));
        end if;
    elsif p_evidence <> 'tsa' and not foja.is_confirmed(d.entity_id, 'tsa', p_witness) then
        return format('precondition_failed:missing_tsa_for_witness_hash: %s has no timestamp', p_witness);
    end if;
    return null;
end $$;

-- `job.*.required`, each of its own document: the next attempt, if none is open and nothing is confirmed.
create function foja.open_attempts(p_entity uuid[], p_seq bigint[]) returns void
language plpgsql as $$
declare
    problem text;
    opened foja.attempt[];
begin
    select min(coalesce(foja.standing_problem(d), foja.turn_problem(d, w.evidence, w.witness), case
            when last.confirmed then format('already_confirmed: %s of %s is confirmed', w.evidence, w.witness)
            when last.open or w.attempt <= last.attempt
                then format('already_asked: attempt %s at %s was opened already', last.attempt, w.evidence)
            when w.attempt is distinct from last.attempt + 1 or w.deadline <= new.at + interval '30 days' is not true
                then format('bad_payload: the next attempt is %s, with a deadline within 30 days', last.attempt + 1) end)),
        array_agg(row(new.entity_id, w.evidence, w.witness, w.attempt, new.seq, w.deadline, 'open', new.tenant, null)::foja.attempt)
    into problem, opened
    from foja.events_at(p_entity, p_seq) new cross join lateral foja.document_at(new.entity_id) d
    cross join lateral (select foja.evidence_asked(new.kind) as evidence, p ->> 'witness_hash' as witness,
            foja.attempt_number(p) as attempt, foja.moment(p ->> 'deadline') as deadline
        from (select new.payload::jsonb as p offset 0) body offset 0) w
    cross join lateral (select coalesce(max(a.attempt), 0) as attempt, bool_or(a.state = 'open') as open,
            bool_or(a.state = 'confirmed') as confirmed
        from foja.attempt a where a.entity_id = new.entity_id and a.evidence = w.evidence
            and (a.witness_hash = w.witness or w.evidence = 'artifact')) last;
    perform foja.refuse_problem(problem);
    insert into foja.attempt select * from unnest(opened);
end $$;

-- Why this is not a report about the evidence of a document, or null. Only the workers of a network and the sweeper may report
-- about it.
create function foja.report_problem(new foja.event, d foja.document, p_evidence text, p_witness text) returns text
language plpgsql stable as $$
begin
    if new.kind like 'anchor.%' and p_evidence not in ('polygon', 'bitcoin', 'rekor')
            or p_evidence = 'rekor' and new.kind = 'anchor.confirmed' then
        return format('bad_payload: %s is not valid for the network %s', new.kind, p_evidence);
    elsif new.kind like 'anchor.%'
            and new.source not in ('sweeper', 'submit-anchor-' || p_evidence, 'process-' || p_evidence || '-anchors') then
        return format('wrong_source: the source %s may not report about %s', new.source, p_evidence);
    elsif d.requested_seq is null then
        return 'precondition_failed:missing_request: protection was not requested';
    elsif p_evidence not in ('tsa', 'artifact') and not exists (select from foja.attempt t where t.entity_id = new.entity_id
            and t.evidence = 'tsa' and t.witness_hash = p_witness and t.state in ('confirmed', 'reorged')) then
        return format('precondition_failed:missing_tsa_for_witness_hash: %s has no timestamp', p_witness);
    end if;
    return null;
end $$;

-- The attempt that a report is about: the one it names, else the open one, else the last.
create function foja.find_attempt(p_entity uuid, p_evidence text, p_witness text, p_attempt integer)
returns setof foja.attempt
language sql stable as $$
    select * from foja.attempt a where a.entity_id = p_entity and a.evidence = p_evidence
        and (a.witness_hash = p_witness or p_evidence = 'artifact')
        and (a.attempt = p_attempt or p_attempt is null)
    order by a.state = 'open' desc, a.attempt desc limit 1
$$;

-- What these events report: of each its event, its payload, the evidence, the attempt that it is about, if there is one, and
-- why it is not a report, or null.
create function foja.reports(p_entity uuid[], p_seq bigint[])
returns table (new foja.event, payload jsonb, a foja.attempt, problem text)
language sql stable as $$
    select new, w.p, case when found.entity_id is not null then found end,
        coalesce(foja.report_problem(new, d, w.evidence, w.witness), case when found.entity_id is null
            then format('precondition_failed:not_asked: %s of %s has no such attempt', w.evidence, w.witness) end)
    from foja.events_at(p_entity, p_seq) new cross join lateral foja.document_at(new.entity_id) d
    cross join lateral (select p, p ->> 'witness_hash' as witness, case split_part(new.kind, '.', 1) when 'anchor'
            then p ->> 'network' else split_part(new.kind, '.', 1) end as evidence
        from (select new.payload::jsonb as p offset 0) body offset 0) w
    left join lateral foja.find_attempt(new.entity_id, w.evidence, w.witness, foja.attempt_number(w.p)) found on true
$$;

-- End these attempts; a confirmation ends every other open one at the same evidence, too. Their jobs are cancelled, unless
-- they have ended.
create function foja.end_attempts(p_attempts foja.attempt[], p_state text) returns void
language plpgsql as $$
declare
    jobs bigint[];
begin
    with ended as (
        update foja.attempt x set state = case when x.attempt = t.attempt then p_state else 'superseded' end
        from (select u.attempt, o.place from unnest(p_attempts) u cross join lateral (
            select a.ctid as place from foja.attempt a where a.entity_id = u.entity_id and a.evidence = u.evidence
                and a.witness_hash = u.witness_hash and (a.attempt = u.attempt or p_state = 'confirmed' and a.state = 'open')
                offset 0) o) t
        where x.ctid = t.place
        returning x.entity_id, foja.job_of(x.evidence) as type, x.asked_seq::text as key, x.attempt <> t.attempt as beside
    )
    select array_agg(j.job_id) into jobs from ended e cross join lateral (
        select * from foja.job o where o.entity_id = e.entity_id and o.type = e.type and o.dedupe_key = e.key
            and (e.beside or o.state in ('queued', 'running', 'retry_scheduled')) offset 0) j;
    if jobs is not null then
        perform foja.cancel_quietly(jobs, 'its attempt has ended');
    end if;
end $$;

-- End the open attempt at the artifact, and with a witness also the open attempts at every other one; cancel their
-- jobs. They are about a request, or about evidence, that no longer counts.
create function foja.supersede_attempts(p_entity uuid, p_reason text, p_witness text default null) returns void
language plpgsql as $$
declare
    superseded record;
begin
    for superseded in
        with ended as (
            update foja.attempt a set state = 'superseded'
            where a.entity_id = p_entity and a.state = 'open' and (a.evidence = 'artifact' or a.witness_hash <> p_witness)
            returning foja.job_of(a.evidence) as type, a.asked_seq::text as key
        )
        select e.type, array_agg(e.key) as keys from ended e group by e.type
    loop
        perform foja.cancel_keys(p_entity, superseded.type, superseded.keys, p_reason);
    end loop;
end $$;
