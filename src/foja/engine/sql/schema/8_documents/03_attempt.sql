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

-- What must be confirmed before an attempt at this evidence is opened. Only the last request counts.
create function foja.check_turn(d foja.document, p_evidence text, p_witness text) returns void
language plpgsql stable as $$
declare
    missing text;
begin
    perform foja.check_witness(d);
    if not foja.is_required(d, case p_evidence when 'artifact' then 'tsa' else p_evidence end, p_witness) then
        perform foja.refuse('precondition_failed:missing_request',
            format('%s of %s is not required by the last request', p_evidence, p_witness));
    elsif p_evidence = 'artifact' then
        missing := foja.missing_evidence(d);
        if missing is not null or foja.stage_rank(d.stage) < 3 then
            perform foja.refuse('precondition_failed:missing_evidence',
                format('the artifact waits for %s', coalesce(missing, 'the final stage')));
        end if;
    elsif p_evidence <> 'tsa' and not foja.is_confirmed(d.entity_id, 'tsa', p_witness) then
        perform foja.refuse('precondition_failed:missing_tsa_for_witness_hash', format('%s has no timestamp', p_witness));
    end if;
end $$;

-- `job.*.required`: the next attempt, if none is open and nothing is confirmed.
create function foja.track_attempt(new foja.event, payload jsonb, d foja.document) returns void
language plpgsql as $$
declare
    required text := foja.evidence_asked(new.kind);
    witness text := payload ->> 'witness_hash';
    number integer := foja.attempt_number(payload);
    due timestamptz := foja.moment(payload ->> 'deadline');
    last record;
begin
    perform foja.check_live(d);
    perform foja.check_turn(d, required, witness);
    select coalesce(max(a.attempt), 0) as attempt, bool_or(a.state = 'open') as open,
        bool_or(a.state = 'confirmed') as confirmed into last
    from foja.attempt a where a.entity_id = new.entity_id and a.evidence = required
        and (a.witness_hash = witness or required = 'artifact');
    if last.confirmed then
        perform foja.refuse('already_confirmed', format('%s of %s is confirmed', required, witness));
    elsif last.open or number <= last.attempt then
        perform foja.refuse('already_asked', format('attempt %s at %s was opened already', last.attempt, required));
    elsif number <> last.attempt + 1 or due is null or due > new.at + interval '30 days' then
        perform foja.refuse('bad_payload',
            format('the next attempt is %s, with a deadline within 30 days', last.attempt + 1));
    end if;
    insert into foja.attempt (entity_id, evidence, witness_hash, attempt, asked_seq, deadline, tenant)
    values (new.entity_id, required, witness, number, new.seq, due, new.tenant);
end $$;

-- The same for many events, each the only one about its evidence that the last request requires, or about its artifact.
-- Returns false, and opens nothing, if another event is among them or one may be refused: then each is tracked alone.
create function foja.open_attempts(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql as $$
declare
    opened foja.attempt[];
begin
    select array_agg(row(new.entity_id, w.evidence, w.witness, w.attempt, new.seq, w.deadline, 'open', new.tenant, null)::foja.attempt)
    into opened
    from foja.events_at(p_entity, p_seq) new
    cross join lateral foja.document_at(new.entity_id) d
    cross join lateral (select foja.evidence_asked(new.kind) as evidence, p ->> 'witness_hash' as witness,
            case when p ->> 'attempt' ~ '^[1-9]\d{0,5}$' then (p ->> 'attempt')::integer end as attempt,
            foja.moment(p ->> 'deadline') as deadline
        from (select new.payload::jsonb as p offset 0) body offset 0) w
    where w.evidence in ('tsa', 'polygon', 'bitcoin', 'rekor', 'artifact') and w.deadline <= new.at + interval '30 days'
        and d.closed is null and not d.finalized and d.witness_status <> 'required'
        and foja.is_required(d, case w.evidence when 'artifact' then 'tsa' else w.evidence end, w.witness)
        and case w.evidence when 'tsa' then true
            when 'artifact' then foja.stage_rank(d.stage) = 3 and (select count(*) = cardinality(d.required_evidence)
                from foja.attempt a where a.entity_id = new.entity_id and a.evidence = any (d.required_evidence)
                    and a.witness_hash = w.witness and a.state = 'confirmed')
            else (select true from foja.attempt a where a.entity_id = new.entity_id
                and a.evidence = 'tsa' and a.witness_hash = w.witness and a.state = 'confirmed') end
        and (select count(*) = w.attempt - 1 and count(*) filter (where a.state in ('open', 'confirmed')) = 0
            from foja.attempt a where a.entity_id = new.entity_id and a.evidence = w.evidence
                and (a.witness_hash = w.witness or w.evidence = 'artifact'));
    if cardinality(opened) is distinct from cardinality(p_seq)
            or (select count(*) <> count(distinct (a.entity_id, a.evidence)) from unnest(opened) a) then
        return false;
    end if;
    insert into foja.attempt select * from unnest(opened);
    return true;
end $$;

-- Only the workers of a network and the sweeper may report about it.
create function foja.check_network(p_network text, p_kind text, p_source text) returns void
language plpgsql stable as $$
begin
    if p_network not in ('polygon', 'bitcoin', 'rekor') or p_network = 'rekor' and p_kind = 'anchor.confirmed' then
        perform foja.refuse('bad_payload', format('%s is not valid for the network %s', p_kind, p_network));
    elsif p_source not in ('sweeper', 'submit-anchor-' || p_network, 'process-' || p_network || '-anchors') then
        perform foja.refuse('wrong_source', format('the source %s may not report about %s', p_source, p_network));
    end if;
end $$;

-- The attempt that a report is about: the one it names, else the open one, else the last.
create function foja.find_attempt(p_entity uuid, p_evidence text, p_witness text, p_attempt integer)
returns foja.attempt
language plpgsql stable as $$
declare
    found foja.attempt;
begin
    select * into found from foja.attempt a where a.entity_id = p_entity and a.evidence = p_evidence
        and (a.witness_hash = p_witness or p_evidence = 'artifact')
        and (a.attempt = p_attempt or p_attempt is null)
    order by a.state = 'open' desc, a.attempt desc limit 1;
    return found;
end $$;

-- End an attempt; a confirmation ends every other one too. Their jobs are cancelled, unless they have ended.
create function foja.end_attempt(a foja.attempt, p_state text) returns void
language plpgsql as $$
declare
    keys text[];
begin
    with ended as (
        update foja.attempt x set state = case x.attempt when a.attempt then p_state else 'superseded' end
        where x.entity_id = a.entity_id and x.evidence = a.evidence and x.witness_hash = a.witness_hash
            and (x.attempt = a.attempt or p_state = 'confirmed' and x.state = 'open')
        returning x.attempt, x.asked_seq::text as key
    )
    select array_agg(e.key) into keys from ended e
    where e.attempt <> a.attempt or exists (select from foja.job j
        where j.entity_id = a.entity_id and j.type = foja.job_of(a.evidence) and j.dedupe_key = e.key
            and j.state in ('queued', 'running', 'retry_scheduled'));
    if keys is not null then
        perform foja.cancel_keys(a.entity_id, foja.job_of(a.evidence), keys, 'its attempt has ended');
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
