-- Recording how work ended. One call for a batch: streams are locked first, in order, then jobs, in order;
-- the events that were found and the jobs that follow are in the same transaction.

-- How one job ended: `done`, `retry`, `give_up` or `snooze`. With `read`, only while the stream is sealed up to there.
create type foja.settlement as (
    job_id bigint, token uuid, outcome text, error text, delay double precision, read bigint
);

create function foja.backoff(rule foja.job_type, tries integer) returns interval
language sql volatile
return least(rule.backoff_most, rule.backoff * 2 ^ least(tries - 1, 20)) * (0.5 + random() / 2);

-- Append the event that a dead job leaves. If the stream refuses it, the job's last error says so.
create function foja.append_on_death(p_job bigint, p_by_sweeper boolean) returns void
language plpgsql as $$
declare
    j foja.job;
    source text;
    problem text;
begin
    select * into j from foja.job where job_id = p_job;
    source := case when p_by_sweeper then 'sweeper' else (select t.source from foja.job_type t where t.type = j.type) end;
    if j.on_death is null or j.silent then
        return;
    elsif not exists (select from foja.entity e
            where e.entity_id = j.entity_id and foja.may_append_on_death(e.domain, j.on_death)) then
        perform foja.refuse('bad_payload', 'the sweeper may not append an event of that kind');
    end if;
    update foja.job set silent = true where job_id = p_job;
    perform foja.append_event(e.entity_id, e.domain, j.on_death ->> 'kind', j.on_death -> 'payload', source,
        idempotency_key => j.on_death ->> 'key', v => coalesce((j.on_death ->> 'v')::integer, 1), tenant => j.tenant)
    from foja.entity e where e.entity_id = j.entity_id;
exception when others then
    if sqlstate ~ '^(40|53|55|57)' then  -- nothing was decided: the caller repeats it
        raise;
    end if;
    get stacked diagnostics problem = pg_exception_detail;
    update foja.job set last_error = concat_ws('; ', last_error,
        'its on_death event was refused: ' || coalesce(nullif(problem, ''), sqlerrm))
    where job_id = p_job;
end $$;

-- What follows when jobs end: their line moves on, and an executor that ended without having seen
-- everything can be woken. The streams are locked.
create function foja.after_jobs(p_job bigint[]) returns void
language plpgsql as $$
begin
    perform foja.promote(array_agg(j.entity_id), array_agg(j.type)) from foja.job j
    where j.job_id = any (p_job) and j.serial
    having count(*) > 0;
    update foja.entity e set awake = null
    from foja.job j join foja.job_type t on t.type = j.type and t.level
    where j.job_id = any (p_job) and j.state in ('succeeded', 'dead', 'cancelled', 'queued') and e.entity_id = j.entity_id
        and e.awake is not null and (j.state <> 'queued' or j.run_at > clock_timestamp());
end $$;

-- The result for each job: `lost` if its token is not the one given, `already` if it was settled with
-- that token before, `again` if its stream grew since it was read; otherwise the outcome itself.
create function foja.judge_jobs(p_settled foja.settlement[]) returns text[]
language plpgsql as $$
declare
    verdicts text[];
    problem text;
begin
    select array_agg(case
            when j.job_id is null or j.lease_token is distinct from u.token then 'lost'
            when j.state <> 'running' then 'already'
            when u.outcome = 'done' and e.sealed <> u.read then 'again'
            when u.outcome = 'retry' and j.tries >= j.max_tries then 'give_up'
            else u.outcome end order by u.place),
        min(case when t.role <> foja.acting_role()
                then format('wrong_source: the role %s may not settle a %s', foja.acting_role(), t.type)
            when u.outcome not in ('done', 'retry', 'give_up', 'snooze') then 'bad_payload: there is no such outcome'
            when u.outcome = 'snooze' and u.delay is null or u.delay not between 0 and 315576000
                then 'bad_payload: a delay is 0 to 315,576,000 seconds (ten years)'
            when t.level and u.outcome = 'done' and u.read is null
                then format('bad_payload: %s has to name the number up to which it read', t.type)
            when u.outcome = 'done' and u.read > e.sealed
                then format('bad_payload: it read %s events of a stream with %s', u.read, e.sealed) end)
    into verdicts, problem
    from unnest(p_settled) with ordinality u(job_id, token, outcome, error, delay, read, place)
    left join foja.job j on j.job_id = u.job_id
    left join foja.job_type t on t.type = j.type
    left join foja.entity e on u.read is not null and e.entity_id = j.entity_id;
    if problem is not null then
        perform foja.refuse_for(problem);
    end if;
    return verdicts;
end $$;

-- Record how the jobs ended, or when they go on.
create function foja.close_jobs(p_settled foja.settlement[], p_verdict text[]) returns void
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    update foja.job j
    set state = case u.verdict when 'done' then 'succeeded' when 'give_up' then 'dead' when 'retry' then 'retry_scheduled'
            else 'queued' end,
        finished_at = case when u.verdict in ('done', 'give_up') then moment end,
        run_at = case u.verdict
            when 'retry' then moment + coalesce(make_interval(secs => u.delay), foja.backoff(t, j.tries))
            when 'snooze' then moment + make_interval(secs => u.delay)
            when 'again' then moment + case when t.level then interval '0' else foja.backoff(t, 1) end
            else j.run_at end,
        tries = j.tries - (u.verdict in ('snooze', 'again'))::integer,
        last_error = case when u.verdict in ('retry', 'give_up') then left(u.error, 2000)
            when u.verdict = 'snooze' then coalesce(left(u.error, 2000), j.last_error) else j.last_error end
    from unnest(p_settled, p_verdict) u(job_id, token, outcome, error, delay, read, verdict), foja.job_type t
    where j.job_id = u.job_id and t.type = j.type and u.verdict not in ('lost', 'already');
end $$;

-- An executor looks again if its stream now has an event that wakes it and that it had not read: its own, or that of
-- another job of this batch. At once, until it has done so as often in a row as it has tries; then after a backoff, so
-- that one which always records something does not flood its stream.
create function foja.look_again(p_settled foja.settlement[], p_verdict text[]) returns void
language plpgsql as $$
begin
    update foja.job j set state = 'queued', finished_at = null, run_at = clock_timestamp()
        + case when j.tries < t.max_tries then interval '0' else foja.backoff(t, j.tries - t.max_tries + 1) end
    from unnest(p_settled, p_verdict) u(job_id, token, outcome, error, delay, read, verdict), foja.entity e, foja.job_type t
    where j.job_id = u.job_id and u.verdict = 'done' and t.type = j.type and t.level and e.entity_id = j.entity_id
        and e.sealed > u.read and exists (select from foja.event v
            join foja.kind k on k.domain = e.domain and k.kind = v.kind and k.v = v.v and k.wakes
            where v.entity_id = e.entity_id and v.seq >= u.read and v.seq < e.sealed);
end $$;

-- Settle a batch; return a verdict for each job. Drafts and following jobs say by `of` whose they are:
-- the place of the job, from 1 on. Those of a job that is not ours any more are left out.
create function foja.settle_jobs_v1(
    p_settled foja.settlement[], p_of integer[], p_drafts foja.draft[], p_next_of integer[], p_next foja.new_job[],
    p_careful boolean
) returns text[]
language plpgsql security definer set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    jobs bigint[] := array(select u.job_id from unnest(p_settled) u);
    verdicts text[];
    special boolean;  -- does anything else follow than that these jobs are done?
    level boolean;
begin
    perform from foja.entity where entity_id = any (
        array(select j.entity_id from unnest(jobs) u(job_id) join foja.job j on j.job_id = u.job_id)
        || array(select d.entity_id from unnest(p_drafts) d) || array(select n.entity_id from unnest(p_next) n))
    order by entity_id for no key update;
    perform from foja.job where job_id = any (jobs) order by job_id for no key update;
    verdicts := foja.judge_jobs(p_settled);
    special := 'done' <> any (verdicts);
    if special then
        select array_agg(p_of[n] order by n), array_agg(p_drafts[n] order by n) into p_of, p_drafts
        from generate_subscripts(p_of, 1) n
        where verdicts[p_of[n]] in ('done', 'give_up') and verdicts[p_of[n]] = p_settled[p_of[n]].outcome;
        select array_agg(p_next[n] order by n) into p_next
        from generate_subscripts(p_next_of, 1) n where verdicts[p_next_of[n]] = 'done';
    end if;
    perform foja.close_jobs(p_settled, verdicts);  -- first: what follows finds them ended
    if p_drafts is not null then
        perform foja.append_drafts(p_drafts, true, p_careful);
    end if;
    if p_next is not null then
        perform foja.insert_jobs(p_next);
    end if;
    if special then
        update foja.job j set silent = true  -- its own events say how it ended
        from unnest(jobs, verdicts) with ordinality u(job_id, verdict, place)
        where j.job_id = u.job_id and u.verdict = 'give_up' and u.place::integer = any (p_of);
        perform foja.append_on_death(u.job_id, false)
        from unnest(jobs, verdicts) with ordinality u(job_id, verdict, place)
        where u.verdict = 'give_up' and not (u.place::integer = any (coalesce(p_of, '{}')));
    end if;
    select bool_or(t.level), coalesce(special, false) or bool_or(t.level or t.serial) into level, special
    from foja.job j join foja.job_type t on t.type = j.type where j.job_id = any (jobs);
    if level then
        perform foja.look_again(p_settled, verdicts);
    end if;
    if special then
        perform foja.after_jobs(array(select u.job_id from unnest(jobs, verdicts) u(job_id, verdict)
            where u.verdict not in ('lost', 'already')));
    end if;
    return verdicts;
end $$;
