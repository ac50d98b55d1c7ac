-- Documents. What happened is in the events, and nowhere else; beside them stands what the guards and the sweeper
-- have to know at once. Every refusal and every deadline is decided from it, so it is written with the event, under
-- the lock of its stream; `foja audit` compares it with the events, and `foja status --rebuild` makes it again.

-- What this installation can produce; nothing else may be asked for. Nothing is ever simulated.
create table foja.ability (
    evidence text primary key check (evidence in ('tsa', 'polygon', 'bitcoin', 'rekor', 'artifact'))
);

insert into foja.ability values ('tsa'), ('artifact');

create table foja.document (
    entity_id uuid primary key,
    tenant text not null,
    added_seq bigint,                -- where its name is, until it is erased
    witness_hash text,               -- of the last request, or else of what was added
    stage text,                      -- of the last request; without a word it is final
    required_evidence text[],        -- of the last request
    requested_seq bigint,
    finalized boolean not null default false,
    renew_before timestamptz,        -- when the certificates of its artifact's newest seal begin to end
    closed text,                     -- revoked or archived
    predecessor uuid                 -- the document that this one is a new version of
) with (fillfactor = 70);

create index artifact_due on foja.document (renew_before) where finalized;
create index document_successors on foja.document (predecessor) where predecessor is not null;
create index document_versions on foja.document (witness_hash) where predecessor is not null;

-- Every attempt ever asked for: open until its ending. A document has one artifact, whatever the witness.
create table foja.attempt (
    entity_id uuid not null,
    evidence text not null,
    witness_hash text not null,
    attempt integer not null,
    asked_seq bigint not null,       -- of the event that asked; the job's key carries it
    deadline timestamptz not null,
    state text not null default 'open',  -- open | failed | superseded | confirmed | reorged
    tenant text not null,
    primary key (entity_id, evidence, witness_hash, attempt)
);

create index attempt_due on foja.attempt (deadline, evidence) where state = 'open';
create index attempt_failed on foja.attempt (tenant, entity_id) where state in ('failed', 'reorged');

-- What lists show, as of the first `length` events. Written by the executor, made again by replay.
create table foja.document_summary (
    entity_id uuid primary key,
    tenant text not null,
    state text not null,
    pipeline text,
    lifecycle_status text not null,
    witness_hash text,
    length bigint not null,
    began_at timestamptz not null
) with (fillfactor = 70);

create index document_list on foja.document_summary (tenant, began_at, entity_id);

update foja.kind set tracked = true where domain = 'document' and not reserved;
-- The executor looks at everything but what it asked for itself and what is still under way.
update foja.kind set wakes = true
where domain = 'document' and kind not like 'job.%' and kind <> 'anchor.submitted';

-- What may be asked for, and what may be said while and after it is.

create function foja.is_hash(word text) returns boolean
language sql immutable parallel safe
return coalesce(word ~ '^[0-9a-f]{64}$', false);

create function foja.stage_rank(stage text) returns integer
language sql immutable parallel safe
return array_position(array['initial', 'intermediate', 'final'], coalesce(stage, 'final'));

-- Is this evidence there for this witness, and not taken back?
create function foja.is_confirmed(p_entity uuid, p_evidence text, p_witness text) returns boolean
language sql stable
return exists (select from foja.attempt a where a.entity_id = p_entity and a.evidence = p_evidence
    and a.witness_hash = p_witness and a.state = 'confirmed');

-- The evidence of the last request that is not there.
create function foja.missing_evidence(d foja.document) returns text
language sql stable
return (select string_agg(each, ', ') from unnest(d.required_evidence) each
    where not foja.is_confirmed(d.entity_id, each, d.witness_hash));

create function foja.check_live(d foja.document) returns void
language plpgsql stable as $$
begin
    if d.finalized then
        perform foja.refuse('document_final', format('%s is final; a new version is a new document', d.entity_id));
    elsif d.closed is not null then
        perform foja.refuse('document_closed', format('%s was %s', d.entity_id, d.closed));
    end if;
end $$;

-- Why this list cannot be required, or null.
create function foja.evidence_problem(wanted jsonb) returns text
language plpgsql immutable as $$
declare
    unknown text;
begin
    if jsonb_typeof(wanted) is distinct from 'array' or not wanted ? 'tsa' then
        return 'bad_payload: required_evidence is a list that always contains tsa';
    elsif wanted <@ '["tsa", "polygon", "bitcoin", "rekor"]' then
        return null;
    end if;
    select string_agg(coalesce(each #>> '{}', 'null'), ', ') into unknown from jsonb_array_elements(wanted) each
    where jsonb_typeof(each) <> 'string' or each #>> '{}' not in ('tsa', 'polygon', 'bitcoin', 'rekor');
    return format('bad_payload: required_evidence knows tsa, polygon, bitcoin and rekor, not %s', unknown);
end $$;

-- Nothing is asked for that nobody here could bring.
create function foja.check_ability(wanted jsonb) returns void
language plpgsql stable as $$
declare
    abilities jsonb := (select coalesce(jsonb_agg(a.evidence), '[]') from foja.ability a);
begin
    if not wanted <@ abilities then
        perform foja.refuse('cannot_produce', format('this installation cannot produce %s',
            (select string_agg(each, ', ') from jsonb_array_elements_text(wanted) each where not abilities ? each)));
    end if;
end $$;

-- The number of the request that asked for the same before, or null.
create function foja.find_request(p_entity uuid, p_stage text, p_witness text, p_before bigint) returns bigint
language sql stable
return (select min(e.seq) from foja.event e where e.entity_id = p_entity and e.seq < p_before
    and e.kind = 'document.protected.requested' and e.payload ->> 'witness_hash' = p_witness
    and coalesce(e.payload ->> 'stage', 'final') = coalesce(p_stage, 'final'));

-- Equal within a stage, growing between stages, never going back.
create function foja.check_growth(d foja.document, new foja.event, p_stage text, p_witness text, p_evidence text[])
returns void
language plpgsql stable as $$
declare
    first bigint;
    step integer := foja.stage_rank(p_stage) - foja.stage_rank(d.stage);
begin
    if step < 0 then
        perform foja.refuse('bad_payload', format('the stage was %s already', coalesce(d.stage, 'final')));
    elsif not p_evidence @> d.required_evidence or step = 0 and not p_evidence <@ d.required_evidence then
        perform foja.refuse('bad_payload', format(
            'required_evidence stays equal within a stage and only grows after it; it is %s', d.required_evidence));
    end if;
    first := foja.find_request(new.entity_id, p_stage, p_witness, new.seq);
    if first is not null then
        perform foja.refuse('already_requested', format('event %s asks for the same', first));
    end if;
end $$;

create function foja.track_request(new foja.event, said jsonb, d foja.document) returns void
language plpgsql as $$
declare
    witness text := said ->> 'witness_hash';
    wanted_stage text := said ->> 'stage';
    problem text := foja.evidence_problem(said -> 'required_evidence');
    evidence text[];
begin
    perform foja.check_live(d);
    if problem is not null then
        perform foja.refuse_for(problem);
    elsif foja.stage_rank(wanted_stage) is null then
        perform foja.refuse('bad_payload', 'a stage is initial, intermediate or final');
    end if;
    evidence := array(select distinct jsonb_array_elements_text(said -> 'required_evidence'));
    if d.requested_seq is not null then
        perform foja.check_growth(d, new, wanted_stage, witness, evidence);
        perform foja.drop_artifact(new.entity_id, 'asked for anew');
    end if;
    update foja.document set witness_hash = witness, stage = wanted_stage, required_evidence = evidence,
        requested_seq = new.seq where entity_id = new.entity_id;
end $$;

-- New attempts are granted for what is asked for and not there.
create function foja.check_retry(said jsonb, d foja.document) returns void
language plpgsql stable as $$
declare
    wanted text := said ->> 'evidence';
    witness text := said ->> 'witness_hash';
begin
    perform foja.check_live(d);
    if not wanted = any (d.required_evidence || array['artifact']) or d.requested_seq is null then
        perform foja.refuse('precondition_failed:missing_request', format('nobody asked for %s', wanted));
    elsif not exists (select from foja.attempt a where a.entity_id = d.entity_id and a.evidence = wanted
            and (a.witness_hash = witness or wanted = 'artifact')) then
        perform foja.refuse('precondition_failed:not_asked', format('%s of %s was not tried yet', wanted, witness));
    elsif foja.is_confirmed(d.entity_id, wanted, witness) then
        perform foja.refuse('already_confirmed', format('%s of %s is confirmed', wanted, witness));
    end if;
end $$;

-- Attempts: asked for once, ended once, confirmed at most once. Called under the stream's lock.

-- The key of the job that an attempt was given.
create function foja.attempt_key(p_type text, p_entity uuid, p_seq bigint) returns text
language sql immutable parallel safe
return p_type || ':' || p_entity || ':' || p_seq;

create function foja.job_of(p_evidence text) returns text
language sql immutable parallel safe
return case p_evidence when 'tsa' then 'run_tsa' when 'artifact' then 'build_artifact'
    else 'submit_anchor_' || p_evidence end;

create function foja.evidence_asked(p_kind text) returns text
language sql immutable parallel safe
return case p_kind when 'job.run-tsa.required' then 'tsa' when 'job.build-artifact.required' then 'artifact'
    else substring(p_kind from '^job\.submit-anchor-(\w+)\.required$') end;

-- The attempt that is spoken of, or null if none is named: a whole number, never rounded to one.
create function foja.attempt_number(said jsonb) returns integer
language plpgsql immutable as $$
declare
    number numeric;
begin
    if said -> 'attempt' is null then
        return null;
    elsif jsonb_typeof(said -> 'attempt') = 'number' then
        number := (said ->> 'attempt')::numeric;
        if number = trunc(number) and number between 1 and 1000000 then
            return number::integer;
        end if;
    end if;
    perform foja.refuse('bad_payload', 'attempts are whole numbers from 1 on');
end $$;

-- Did a request name this evidence for this witness? The last one is at hand.
create function foja.is_required(d foja.document, p_evidence text, p_witness text) returns boolean
language plpgsql stable as $$
begin
    if d.witness_hash = p_witness and p_evidence = any (d.required_evidence) then
        return true;
    end if;
    return exists (select from foja.event e where e.entity_id = d.entity_id and e.seq < d.requested_seq
        and e.kind = 'document.protected.requested' and e.payload ->> 'witness_hash' = p_witness
        and (e.payload -> 'required_evidence')::jsonb ? p_evidence);
end $$;

-- What must be there before this evidence may be asked for.
create function foja.check_turn(d foja.document, p_evidence text, p_witness text) returns void
language plpgsql stable as $$
declare
    missing text;
begin
    if d.requested_seq is null
            or not foja.is_required(d, case p_evidence when 'artifact' then 'tsa' else p_evidence end, p_witness) then
        perform foja.refuse('precondition_failed:missing_request',
            format('nobody asked for %s of %s', p_evidence, p_witness));
    elsif p_evidence = 'artifact' then
        missing := foja.missing_evidence(d);
        if missing is not null or foja.stage_rank(d.stage) < 3 or d.witness_hash <> p_witness then
            perform foja.refuse('precondition_failed:missing_evidence',
                format('the artifact waits for %s', coalesce(missing, 'the final stage')));
        end if;
    elsif p_evidence <> 'tsa' and not foja.is_confirmed(d.entity_id, 'tsa', p_witness) then
        perform foja.refuse('precondition_failed:missing_tsa_for_witness_hash', format('%s has no timestamp', p_witness));
    end if;
end $$;

-- `job.*.required`: the next attempt, if none is open and nothing is confirmed.
create function foja.track_asking(new foja.event, said jsonb, d foja.document) returns void
language plpgsql as $$
declare
    wanted text := foja.evidence_asked(new.kind);
    witness text := said ->> 'witness_hash';
    number integer := foja.attempt_number(said);
    due timestamptz := foja.moment(said ->> 'deadline');
    last record;
begin
    perform foja.check_live(d);
    perform foja.check_turn(d, wanted, witness);
    select coalesce(max(a.attempt), 0) as attempt, bool_or(a.state = 'open') as open,
        bool_or(a.state = 'confirmed') as confirmed into last
    from foja.attempt a where a.entity_id = new.entity_id and a.evidence = wanted
        and (a.witness_hash = witness or wanted = 'artifact');
    if last.confirmed then
        perform foja.refuse('already_confirmed', format('%s of %s is confirmed', wanted, witness));
    elsif last.open or number <= last.attempt then
        perform foja.refuse('already_asked', format('attempt %s of %s was asked for', last.attempt, wanted));
    elsif number <> last.attempt + 1 or due is null or due > new.at + interval '30 days' then
        perform foja.refuse('bad_payload',
            format('attempt %s is next, and has a deadline within 30 days', last.attempt + 1));
    end if;
    insert into foja.attempt (entity_id, evidence, witness_hash, attempt, asked_seq, deadline, tenant)
    values (new.entity_id, wanted, witness, number, new.seq, due, new.tenant);
end $$;

-- Who may speak of a network: its own workers, and the sweeper.
create function foja.check_network(p_network text, p_kind text, p_source text) returns void
language plpgsql stable as $$
begin
    if p_network not in ('polygon', 'bitcoin', 'rekor') or p_network = 'rekor' and p_kind = 'anchor.confirmed' then
        perform foja.refuse('bad_payload', format('%s is not said of %s', p_kind, p_network));
    elsif p_source not in ('sweeper', 'submit-anchor-' || p_network, 'process-' || p_network || '-anchors') then
        perform foja.refuse('wrong_source', format('%s may not speak of %s', p_source, p_network));
    end if;
end $$;

-- The attempt a report is about: the one it names, or else the open one, or else the last.
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

-- Mark the ending of an attempt; a confirmation ends every other one too. Jobs that would still work on them are
-- taken away; the one that says so has ended before.
create function foja.end_attempt(a foja.attempt, p_state text) returns void
language plpgsql as $$
declare
    keys text[];
begin
    with ended as (
        update foja.attempt x set state = case x.attempt when a.attempt then p_state else 'superseded' end
        where x.entity_id = a.entity_id and x.evidence = a.evidence and x.witness_hash = a.witness_hash
            and (x.attempt = a.attempt or p_state = 'confirmed' and x.state = 'open')
        returning x.attempt, foja.attempt_key(foja.job_of(x.evidence), x.entity_id, x.asked_seq) as key
    )
    select array_agg(e.key) into keys from ended e
    where e.attempt <> a.attempt or exists (select from foja.job j
        where j.dedupe_key = e.key and j.state in ('queued', 'running', 'retry_scheduled'));
    if keys is not null then
        perform foja.cancel_keys(keys, 'its attempt has ended');
    end if;
end $$;

-- What is being built shows what was asked for before: end it, and take its job away.
create function foja.drop_artifact(p_entity uuid, p_reason text) returns void
language plpgsql as $$
declare
    key text;
begin
    update foja.attempt a set state = 'superseded'
    where a.entity_id = p_entity and a.evidence = 'artifact' and a.state = 'open'
    returning foja.attempt_key('build_artifact', a.entity_id, a.asked_seq) into key;
    if key is not null then
        perform foja.cancel_keys(array[key], p_reason);
    end if;
end $$;

-- The guards of every document's event, in its own transaction, for one event and for many.

-- `*.confirmed`: after a request, for an attempt that is open or says that it is late, once.
create function foja.track_confirmation(new foja.event, said jsonb, a foja.attempt) returns void
language plpgsql as $$
begin
    if foja.is_confirmed(a.entity_id, a.evidence, a.witness_hash) then
        perform foja.refuse('already_confirmed', format('%s of %s is confirmed', a.evidence, a.witness_hash));
    elsif a.state <> 'open' and said -> 'late' is distinct from 'true' then
        perform foja.refuse('attempt_not_open', format('attempt %s of %s has ended', a.attempt, a.evidence));
    elsif new.kind = 'tsa.confirmed' and (said ->> 'token_b64' = '' or foja.moment(said ->> 'gen_time') is null)
            or new.kind = 'anchor.confirmed' and foja.moment(said ->> 'confirmed_at') is null then
        perform foja.refuse('bad_payload', format('%s needs its proof, and a time that is one', new.kind));
    end if;
    perform foja.end_attempt(a, 'confirmed');
end $$;

-- `*.failed`, `anchor.timeout`: once, for what is open; a chain may take a confirmation back.
create function foja.track_failure(said jsonb, a foja.attempt) returns void
language plpgsql as $$
declare
    taken_back boolean := said ->> 'failure_code' = 'reorged' and a.evidence in ('polygon', 'bitcoin', 'rekor');
begin
    if a.state <> (case when taken_back then 'confirmed' else 'open' end) then
        perform foja.refuse('attempt_not_open', format('attempt %s of %s has ended', a.attempt, a.evidence));
    end if;
    perform foja.end_attempt(a, case when taken_back then 'reorged' else 'failed' end);
    if taken_back then
        perform foja.drop_artifact(a.entity_id, 'its evidence was taken back');
    end if;
end $$;

-- What a worker or the sweeper says about an attempt.
create function foja.track_report(new foja.event, said jsonb, d foja.document) returns void
language plpgsql as $$
declare
    room text := split_part(new.kind, '.', 1);
    word text := split_part(new.kind, '.', 2);
    about text := case room when 'anchor' then said ->> 'network' else room end;
    witness text := said ->> 'witness_hash';
    a foja.attempt;
begin
    if room = 'anchor' then
        perform foja.check_network(about, new.kind, new.source);
    end if;
    if d.requested_seq is null then
        perform foja.refuse('precondition_failed:missing_request', 'nobody asked for protection');
    elsif about not in ('tsa', 'artifact') and not foja.is_confirmed(new.entity_id, 'tsa', witness) then
        perform foja.refuse('precondition_failed:missing_tsa_for_witness_hash', format('%s has no timestamp', witness));
    end if;
    a := foja.find_attempt(new.entity_id, about, witness, foja.attempt_number(said));
    if a.entity_id is null then
        perform foja.refuse('precondition_failed:not_asked', format('nobody asked for this %s of %s', about, witness));
    elsif word = 'confirmed' then
        perform foja.track_confirmation(new, said, a);
    elsif word in ('failed', 'timeout') then
        perform foja.track_failure(said, a);
    elsif a.state <> 'open' then
        perform foja.refuse('attempt_not_open', format('attempt %s of %s has ended', a.attempt, a.evidence));
    end if;
end $$;

-- Why these cannot be the words about an artifact, or null.
create function foja.artifact_problem(said jsonb) returns text
language sql stable
return case when not foja.is_hash(said ->> 'sha256') then 'sha256 is 64 hexadecimal digits in lower case'
    when (said ->> 'size')::numeric < 0 or (said ->> 'size')::numeric <> trunc((said ->> 'size')::numeric)
        then 'size is a number of bytes'
    when said ->> 'renew_before' is not null and foja.moment(said ->> 'renew_before') is null
        then 'renew_before is a moment'
    when said ->> 'profile' = '' then 'profile says how it is written'
    when said ->> 'verdict' not in ('TOTAL_PASSED', 'INDETERMINATE', 'TOTAL_FAILED')
        then 'verdict is TOTAL_PASSED, INDETERMINATE or TOTAL_FAILED' end;

-- `artifact.finalized`: once, for what the last request asks for, all of it confirmed before it was built.
create function foja.track_finalization(new foja.event, said jsonb, d foja.document) returns void
language plpgsql as $$
declare
    a foja.attempt;
    problem text := foja.artifact_problem(said);
begin
    perform foja.check_live(d);
    if problem is not null then
        perform foja.refuse('bad_payload', problem);
    end if;
    perform foja.check_turn(d, 'artifact', d.witness_hash);
    a := foja.find_attempt(new.entity_id, 'artifact', d.witness_hash, foja.attempt_number(said));
    if a.entity_id is null or a.state <> 'open' or a.witness_hash <> d.witness_hash
            or a.asked_seq <= d.requested_seq then
        perform foja.refuse('attempt_not_open', 'no attempt at the artifact is open');
    end if;
    perform foja.end_attempt(a, 'confirmed');
    update foja.document set finalized = true, renew_before = foja.moment(said ->> 'renew_before')
    where entity_id = new.entity_id;
    -- Whoever has artifacts has somebody who looks after them every day.
    insert into foja.tick (name, type, every, due, tenant)
    values ('renew_artifacts:' || new.tenant, 'renew_artifacts', '1 day', clock_timestamp() + '1 day', new.tenant)
    on conflict do nothing;
end $$;

-- What people and programs say about the document itself.
create function foja.track_word(new foja.event, said jsonb, d foja.document) returns void
language plpgsql as $$
begin
    if new.kind = 'document.added' then
        if d.added_seq is distinct from new.seq then
            perform foja.refuse('already_added', format('%s has a history already', d.entity_id));
        elsif not foja.is_hash(said ->> 'sha256') then
            perform foja.refuse('bad_payload', 'sha256 is 64 hexadecimal digits in lower case');
        end if;
    elsif d.closed = 'archived' or d.closed is not null and new.kind <> 'document.archived' then
        perform foja.refuse('document_closed', format('%s was %s', d.entity_id, d.closed));
    elsif new.kind in ('document.revoked', 'document.archived') then
        update foja.document set closed = split_part(new.kind, '.', 2) where entity_id = new.entity_id;
        perform foja.drop_artifact(new.entity_id, new.kind);
    end if;
end $$;

create function foja.as_uuid(word text) returns uuid
language sql immutable parallel safe
return case when word ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then word::uuid end;

-- A new version names a document that is there. Not asked again when events are replayed: the order may be another.
create function foja.check_predecessor(new foja.event, p_named text) returns void
language plpgsql stable as $$
begin
    if not exists (select from foja.entity e where e.entity_id = foja.as_uuid(p_named) and e.entity_id <> new.entity_id
            and e.domain = 'document' and e.tenant = new.tenant) then
        perform foja.refuse('unknown_entity', format('there is no document %s to be the predecessor', p_named));
    end if;
end $$;

-- Take one event into what stands beside the events, or refuse it.
create function foja.take_document(new foja.event) returns void
language plpgsql as $$
declare
    d foja.document;
    said jsonb := new.payload;
begin
    if new.seq > 0 then
        select * into d from foja.document where entity_id = new.entity_id;
    end if;
    if d.entity_id is null then
        -- What is added is written at once, not corrected a moment later.
        insert into foja.document (entity_id, tenant, added_seq, witness_hash, predecessor)
        values (new.entity_id, new.tenant, case new.kind when 'document.added' then new.seq end,
            case new.kind when 'document.added' then said ->> 'sha256' end,
            case new.kind when 'document.added' then foja.as_uuid(said ->> 'predecessor') end)
        returning * into d;
    end if;
    if said -> 'witness_hash' is not null and not foja.is_hash(said ->> 'witness_hash') then
        perform foja.refuse('bad_payload', 'witness_hash is a SHA-256 digest: 64 hexadecimal digits in lower case');
    elsif new.kind = 'document.protected.requested' then
        perform foja.track_request(new, said, d);
    elsif new.kind like 'document.%' then
        perform foja.track_word(new, said, d);
    elsif new.kind like 'job.%' then
        perform foja.track_asking(new, said, d);
    elsif new.kind = 'protection.retry.requested' then
        perform foja.check_retry(said, d);
    elsif new.kind = 'artifact.finalized' then
        perform foja.track_finalization(new, said, d);
    elsif new.kind = 'artifact.renewed' then
        if not d.finalized then
            perform foja.refuse('precondition_failed:not_final', 'only what is final is renewed');
        elsif foja.artifact_problem(said) is not null then
            perform foja.refuse('bad_payload', foja.artifact_problem(said));
        end if;
        update foja.document set renew_before = foja.moment(said ->> 'renew_before') where entity_id = new.entity_id;
    else
        perform foja.track_report(new, said, d);
    end if;
end $$;

create function foja.track_document(new foja.event, p_at_head boolean) returns void
language plpgsql as $$
begin
    if not p_at_head then
        perform foja.refuse('bad_reservation', 'a document is written at its head; leave the number out');
    end if;
    perform foja.take_document(new);
    if new.kind = 'document.protected.requested' then
        perform foja.check_ability((new.payload -> 'required_evidence')::jsonb);
    elsif new.kind = 'document.added' and new.payload ->> 'predecessor' is not null then
        perform foja.check_predecessor(new, new.payload ->> 'predecessor');
    end if;
end $$;

-- What stands beside the events of a stream.
create function foja.tracked(p_entity uuid) returns jsonb
language sql stable
return jsonb_build_array((select to_jsonb(d) from foja.document d where d.entity_id = p_entity),
    (select jsonb_agg(to_jsonb(a) order by a.asked_seq) from foja.attempt a where a.entity_id = p_entity));

-- Make it again from the events, under the lock of the stream; returns whether it was something else.
create function foja.retrack_document(p_entity uuid) returns boolean
language plpgsql as $$
declare
    old foja.event;
    before jsonb;
begin
    perform from foja.entity e where e.entity_id = p_entity for no key update;
    before := foja.tracked(p_entity);
    delete from foja.attempt a where a.entity_id = p_entity;
    delete from foja.document d where d.entity_id = p_entity;
    for old in select v.* from foja.entity e join foja.event v using (entity_id)
        join foja.kind k on k.domain = e.domain and k.kind = v.kind and k.v = v.v and k.tracked
        where e.entity_id = p_entity and e.domain = 'document' order by v.seq
    loop
        if old.payload is null then  -- erased: only that it was added is left
            insert into foja.document (entity_id, tenant, added_seq) values (old.entity_id, old.tenant, old.seq);
        else
            perform foja.take_document(old);
        end if;
    end loop;
    return before is distinct from foja.tracked(p_entity);
end $$;

-- The same for many, each locked in turn; returns those that were something else.
create function foja.retrack_documents(p_entities uuid[]) returns setof uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform foja.check_source('protect-document-v2');
    return query select each.entity_id from (select unnest(p_entities) as entity_id order by 1 offset 0) each
    where foja.retrack_document(each.entity_id);
end $$;

-- The end of what nobody ended: attempts past their deadline, closed under the lock of their stream.

-- The event that says an attempt took too long.
create function foja.timeout_kind(p_evidence text) returns text
language sql immutable parallel safe
return case when p_evidence in ('tsa', 'artifact') then p_evidence || '.failed' else 'anchor.timeout' end;

create function foja.timeout_words(a foja.attempt) returns jsonb
language sql stable
return jsonb_build_object('witness_hash', a.witness_hash, 'attempt', a.attempt, 'reason', 'nobody ended it in time')
    || case when a.evidence in ('tsa', 'artifact') then jsonb_build_object('failure_code', 'timeout')
        else jsonb_build_object('network', a.evidence, 'limit', a.deadline) end;

-- Close what is past its deadline and still open, and cancel its job with it; returns the streams. What is paused
-- waits for its type to be resumed, and no row of it is read meanwhile: there may be many.
create function foja.expire_attempts(p_most integer) returns setof uuid
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
                order by a.deadline limit p_most
            ) a order by a.deadline limit p_most
        ) oldest order by oldest.entity_id, oldest.asked_seq
    loop
        perform from foja.entity e where e.entity_id = due.entity_id for no key update;
        -- A statement of its own: it sees what happened before the lock was given.
        select * into late from foja.attempt a where a.entity_id = due.entity_id and a.evidence = due.evidence
            and a.witness_hash = due.witness_hash and a.attempt = due.attempt and a.state = 'open';
        if late.entity_id is not null then
            perform foja.append_event(late.entity_id, 'document', foja.timeout_kind(late.evidence),
                foja.timeout_words(late), 'sweeper', tenant => late.tenant);
            perform foja.cancel_keys(
                array[foja.attempt_key(foja.job_of(late.evidence), late.entity_id, late.asked_seq)], 'timeout');
            return next late.entity_id;
        end if;
    end loop;
end $$;

-- What lists show. It decides nothing: the executor writes it for the events it read.

-- Write rows, unless newer ones are there.
create function foja.write_summaries(
    p_entity uuid[], p_state text[], p_pipeline text[], p_lifecycle text[], p_witness text[], p_length bigint[],
    p_began timestamptz[]
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
    where old.length < excluded.length;
end $$;

-- Write rows by replay, whatever stood there; returns for each whether another one did, or none. A stream that
-- grew since it was read is not returned: read it again. Locked, none grows meanwhile.
create function foja.rebuild_summaries(
    p_entity uuid[], p_state text[], p_pipeline text[], p_lifecycle text[], p_witness text[], p_length bigint[],
    p_began timestamptz[]
) returns table (entity_id uuid, mended boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    whole uuid[];
    kept uuid[];
begin
    perform foja.check_source('protect-document-v2');
    perform from foja.entity e where e.entity_id = any (p_entity) order by e.entity_id for no key update;
    perform from foja.document_summary s where s.entity_id = any (p_entity) order by s.entity_id for update;
    select array_agg(u.entity_id), array_agg(u.entity_id) filter (where
        (s.state, s.pipeline, s.lifecycle_status, s.witness_hash, s.length, s.began_at)
        is not distinct from (u.state, u.pipeline, u.lifecycle, u.witness, u.length, u.began))
    into whole, kept
    from unnest(p_entity, p_state, p_pipeline, p_lifecycle, p_witness, p_length, p_began)
        u(entity_id, state, pipeline, lifecycle, witness, length, began)
    join foja.entity e on e.entity_id = u.entity_id and e.sealed = u.length
    left join foja.document_summary s on s.entity_id = u.entity_id;
    delete from foja.document_summary s where s.entity_id = any (whole) and s.entity_id <> all (coalesce(kept, '{}'));
    perform foja.write_summaries(p_entity, p_state, p_pipeline, p_lifecycle, p_witness, p_length, p_began);
    return query select each, each <> all (coalesce(kept, '{}')) from unnest(whole) each;
end $$;

-- Documents as the table and the function of the seed, for programs that know these names and nothing of ours.

create function foja.envelope(e foja.event) returns jsonb
language sql stable parallel safe
return jsonb_build_object('id', e.event_id, 'seq', e.seq, 'kind', e.kind, 'at', e.at, 'v', e.v, 'actor', e.actor,
    'entity_id', e.entity_id, 'correlation_id', e.entity_id, '_source', e.source, 'payload', e.payload);

create view public.document_entities with (security_invoker = true) as
select e.entity_id as id, d.witness_hash, coalesce(s.lifecycle_status, 'needs_witness') as lifecycle_status,
    (select jsonb_agg(foja.envelope(x) order by x.seq) from foja.event x where x.entity_id = e.entity_id) as events,
    (select x.at from foja.event x where x.entity_id = e.entity_id and x.seq = 0) as created_at, e.tenant
from foja.entity e left join foja.document d using (entity_id) left join foja.document_summary s using (entity_id)
where e.domain = 'document';

create trigger document_change instead of insert or update or delete on public.document_entities
    for each row execute function foja.forbid_change();

-- Why this is no envelope of an event of that document, or null.
create function foja.envelope_problem(p_document uuid, p_event jsonb) returns text
language plpgsql stable as $$
declare
    unknown text;
begin
    if p_document is null or jsonb_typeof(p_event) is distinct from 'object' or p_event ->> 'kind' is null then
        return 'bad_payload: an event is an object with a kind and a payload, of one document';
    elsif coalesce(p_event ->> 'entity_id', p_document::text) <> p_document::text then
        return format('wrong_entity: the event says it is of %s', p_event ->> 'entity_id');
    end if;
    select string_agg(key, ', ') into unknown from jsonb_object_keys(p_event) key where key not in
        ('id', 'seq', 'kind', 'at', 'v', 'actor', 'entity_id', 'correlation_id', '_source', 'payload');
    if unknown is not null then
        return format('bad_payload: the body of an event is in its payload; move there: %s', unknown);
    end if;
    return null;
end $$;

-- Append one event. `at` and `correlation_id` are ours, whatever the caller says; a request made before is found.
create function public.append_document_entity_event(p_document_entity_id uuid, p_event jsonb, p_source text default 'api')
returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    problem text := foja.envelope_problem(p_document_entity_id, p_event);
    body jsonb := coalesce(p_event -> 'payload', '{}');
    here text := foja.acting_tenant();
    stored bigint;
begin
    if problem is not null then
        perform foja.refuse_for(problem);
    end if;
    perform foja.check_source(p_source);
    perform from foja.entity e where e.entity_id = p_document_entity_id for no key update;
    if p_event ->> 'kind' = 'document.protected.requested'
            and jsonb_typeof(body -> 'required_evidence') = 'array' then
        select e.seq into stored
        from foja.document d join foja.event e on e.entity_id = d.entity_id and e.seq = foja.find_request(
            d.entity_id, body ->> 'stage', body ->> 'witness_hash', d.requested_seq + 1)
        where d.entity_id = p_document_entity_id and d.tenant = here
            and (e.payload -> 'required_evidence')::jsonb @> (body -> 'required_evidence')
            and (e.payload -> 'required_evidence')::jsonb <@ (body -> 'required_evidence');
    end if;
    if stored is null then
        stored := (foja.append_event(p_document_entity_id, 'document', p_event ->> 'kind', body, p_source,
            p_event ->> 'actor', v => coalesce((p_event ->> 'v')::integer, 1), tenant => here,
            event_id => (p_event ->> 'id')::uuid)).seq;
    end if;
    return (select foja.envelope(e) from foja.event e where e.entity_id = p_document_entity_id and e.seq = stored);
end $$;

-- A job type and a role per source, deny by default: whoever works for documents appends as itself.

do $$
declare
    name text;
begin
    foreach name in array array['foja_protect_document_v2', 'foja_run_tsa', 'foja_submit_anchor_polygon',
        'foja_submit_anchor_bitcoin', 'foja_submit_anchor_rekor', 'foja_process_polygon_anchors',
        'foja_process_bitcoin_anchors', 'foja_build_artifact'] loop
        begin
            execute format('create role %I nologin', name);
        exception when duplicate_object or unique_violation then
            null;  -- roles belong to the whole server; another database made it
        end;
        begin
            execute format('grant foja_worker to %I', name);
        exception when unique_violation then
            null;  -- granted at the same moment, for another database
        end;
    end loop;
end $$;

insert into foja.job_type (type, source, lease, max_tries, level) values
    ('protect_document_v2', 'protect-document-v2', '30 seconds', 10, true),
    ('run_tsa', 'run-tsa', '60 seconds', 5, false),
    ('submit_anchor_polygon', 'submit-anchor-polygon', '60 seconds', 5, false),
    ('submit_anchor_bitcoin', 'submit-anchor-bitcoin', '60 seconds', 5, false),
    ('submit_anchor_rekor', 'submit-anchor-rekor', '60 seconds', 5, false),
    ('build_artifact', 'build-artifact', '60 seconds', 5, false),
    ('renew_artifacts', 'build-artifact', '5 minutes', 5, false);

update foja.domain set executor = 'protect_document_v2' where domain = 'document';

revoke execute on function
    foja.is_hash, foja.stage_rank, foja.is_confirmed, foja.missing_evidence, foja.check_live, foja.evidence_problem,
    foja.find_request, foja.check_growth, foja.track_request, foja.check_retry, foja.attempt_key, foja.job_of,
    foja.attempt_number, foja.is_required, foja.drop_artifact, foja.artifact_problem, foja.evidence_asked, foja.check_turn, foja.track_asking, foja.check_network, foja.find_attempt, foja.end_attempt,
    foja.track_confirmation, foja.track_failure, foja.track_report, foja.track_finalization, foja.track_word,
    foja.track_document, foja.take_document, foja.as_uuid, foja.check_predecessor, foja.tracked, foja.retrack_document, foja.retrack_documents, foja.check_ability, foja.timeout_kind, foja.timeout_words, foja.expire_attempts,
    foja.write_summaries, foja.rebuild_summaries, foja.envelope, foja.envelope_problem, public.append_document_entity_event
    from public;

grant select on foja.ability, foja.document, foja.attempt, foja.document_summary, public.document_entities
    to foja_worker, service_role, foja_api, foja_sweeper;
grant select on foja.ability, foja.document, foja.document_summary, public.document_entities to authenticated;
grant execute on function foja.envelope to foja_worker, authenticated, service_role, foja_api, foja_sweeper;
grant execute on function public.append_document_entity_event to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.expire_attempts to foja_sweeper;
grant execute on function foja.attempt_key, foja.job_of to foja_worker, service_role, foja_api, foja_sweeper;
grant execute on function foja.write_summaries, foja.rebuild_summaries, foja.retrack_documents to foja_protect_document_v2;

alter table foja.document enable row level security;
alter table foja.attempt enable row level security;
alter table foja.document_summary enable row level security;

create policy installation_reads on foja.document for select
    to foja_worker, service_role, foja_api, foja_sweeper using (true);
create policy installation_reads on foja.attempt for select
    to foja_worker, service_role, foja_api, foja_sweeper using (true);
create policy installation_reads on foja.document_summary for select
    to foja_worker, service_role, foja_api, foja_sweeper using (true);
create policy tenant_reads on foja.document for select to authenticated
    using (tenant = nullif(current_setting('foja.tenant', true), ''));
create policy tenant_reads on foja.document_summary for select to authenticated
    using (tenant = nullif(current_setting('foja.tenant', true), ''));

-- Documents that were written before this was here.
select foja.retrack_document(e.entity_id) from foja.entity e where e.domain = 'document';
select foja.wake_domain('document');
