-- The guards for a batch of events of one kind, or of additions and requests, each of its own document: few statements
-- instead of many calls. Each function returns false, and writes nothing, if one of the events may be refused or does more
-- than usual: then each event is tracked by itself, which says what is refused. Documents, attempts and jobs are looked up
-- one by one, never joined: a plan that was made while the tables were empty would read them whole, and for each document
-- all events of the batch.

-- Whether so many documents were found as there are events, and none twice.
create function foja.is_each_once(p_documents uuid[], p_seq bigint[]) returns boolean
language plpgsql immutable parallel safe as $$
begin
    return cardinality(p_documents) is not distinct from cardinality(p_seq)
        and (select count(distinct d) from unnest(p_documents) d) = cardinality(p_seq);
end $$;

-- Confirm these attempts, which are open. Each is looked up by its key: else a plan that was made while the table was empty
-- would read all open attempts, as many as wait, or the whole table.
create function foja.confirm_each(p_evidence text, p_documents uuid[], p_witness text[], p_attempt integer[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
    update foja.attempt x set state = 'confirmed'
    from (select a.place from unnest(p_documents, p_witness, p_attempt) u(entity_id, witness, attempt)
        cross join lateral (select o.ctid as place from foja.attempt o where o.entity_id = u.entity_id
            and o.evidence = p_evidence and o.witness_hash = u.witness and o.attempt = u.attempt offset 0) a) t
    where x.ctid = t.place;
end $$;

-- `tsa.confirmed` of the only open attempt, whose job has ended.
create function foja.confirm_timestamps(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    documents uuid[];
    witnesses text[];
    attempts integer[];
begin
    select array_agg(new.entity_id), array_agg(w.witness), array_agg(w.attempt::integer)
    into documents, witnesses, attempts
    from foja.events_at(p_entity, p_seq) new
    cross join lateral foja.document_at(new.entity_id) d
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
    perform foja.confirm_each('tsa', documents, witnesses, attempts);
    return true;
end $$;

-- `artifact.finalized` of the only open attempt, whose job has ended, when everything that is required was confirmed.
create function foja.finalize_documents(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
    documents uuid[];
    witnesses text[];
    attempts integer[];
    renewals timestamptz[];
    due record;
begin
    select array_agg(new.entity_id), array_agg(w.witness), array_agg(w.attempt::integer), array_agg(w.renew_before)
    into documents, witnesses, attempts, renewals
    from foja.events_at(p_entity, p_seq) new
    cross join lateral foja.document_at(new.entity_id) d
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
    perform foja.confirm_each('artifact', documents, witnesses, attempts);
    for due in select r.renew_before, array_agg(r.document) as documents from unnest(documents, renewals) r(document, renew_before)
        group by r.renew_before
    loop  -- mostly once: the certificates of an authority expire at one time
        update foja.document d set finalized = true, renew_before = due.renew_before where d.entity_id = any (due.documents);
    end loop;
    perform foja.plan_renewals(t.tenant) from (select distinct d.tenant from foja.document d where d.entity_id = any (documents)) t;
    return true;
end $$;

-- `document.added` as the first event, without a predecessor: the row, and the words that are found.
create function foja.add_documents(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql as $$
declare
    documents uuid[];
    tenants text[];
    moments timestamptz[];
    digests text[];
    titles text[];
begin
    select array_agg(new.entity_id), array_agg(new.tenant), array_agg(new.at), array_agg(w.digest), array_agg(w.title)
    into documents, tenants, moments, digests, titles
    from foja.events_at(p_entity, p_seq) new
    cross join lateral (select p ->> 'sha256' as digest, p ->> 'name' as title,
            p -> 'witness_hash' is null and p ->> 'predecessor' is null as plain
        from (select new.payload::jsonb as p offset 0) body offset 0) w
    where new.kind = 'document.added' and new.seq = 0 and w.plain and foja.is_hash(w.digest);
    if not foja.is_each_once(documents, p_seq) then
        return false;
    end if;
    insert into foja.document (entity_id, tenant, added_seq, witness_hash, witness_status)
    select u.entity_id, u.tenant, 0, u.digest, 'ready' from unnest(documents, tenants, digests) u(entity_id, tenant, digest);
    insert into foja.document_word (entity_id, word, tenant, added_at)
    select u.entity_id, found.word, u.tenant, u.at
    from unnest(documents, tenants, moments, digests, titles) u(entity_id, tenant, at, digest, title)
    cross join lateral (select '#' || u.digest union all select foja.words_of(u.title) where u.title is not null) found(word)
    on conflict do nothing;
    return true;
end $$;

-- `document.protected.requested` as the first request of a document, for what this installation can produce.
create function foja.request_documents(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql as $$
declare
    abilities jsonb := (select coalesce(jsonb_agg(a.evidence), '[]') from foja.ability a);
    documents uuid[];
    seqs bigint[];
    witnesses text[];
    stages text[];
    required jsonb[];
begin
    select array_agg(new.entity_id), array_agg(new.seq), array_agg(w.witness), array_agg(w.stage), array_agg(w.required)
    into documents, seqs, witnesses, stages, required
    from foja.events_at(p_entity, p_seq) new
    -- Looked up one by one: before it was vacuumed, a join could read the whole table.
    cross join lateral (select d.requested_seq is null and not d.finalized and d.closed is null
            and d.witness_status <> 'required' as live from foja.document d where d.entity_id = new.entity_id offset 0) own
    cross join lateral (select p ->> 'witness_hash' as witness, p ->> 'stage' as stage, p -> 'required_evidence' as required
        from (select new.payload::jsonb as p offset 0) body offset 0) w
    where new.kind = 'document.protected.requested' and own.live and foja.is_hash(w.witness)
        and foja.stage_rank(w.stage) is not null and foja.evidence_problem(w.required) is null and w.required <@ abilities;
    if not foja.is_each_once(documents, p_seq) then
        return false;
    end if;
    update foja.document d set witness_hash = u.witness, witness_status = 'ready', stage = u.stage,
        required_evidence = array(select distinct jsonb_array_elements_text(u.required)), requested_seq = u.seq
    from unnest(documents, seqs, witnesses, stages, required) u(entity_id, seq, witness, stage, required)
    where d.entity_id = u.entity_id;
    return true;
end $$;

-- Documents that were added and requests, as clients send them, mixed. Additions come first: a request may follow its own.
create function foja.admit_documents(p_entity uuid[], p_seq bigint[]) returns boolean
language plpgsql as $$
declare
    added uuid[];
    added_seqs bigint[];
    asked uuid[];
    asked_seqs bigint[];
begin
    select array_agg(e.entity_id) filter (where e.kind = 'document.added'),
        array_agg(e.seq) filter (where e.kind = 'document.added'),
        array_agg(e.entity_id) filter (where e.kind <> 'document.added'),
        array_agg(e.seq) filter (where e.kind <> 'document.added')
    into added, added_seqs, asked, asked_seqs
    from (select * from foja.events_at(p_entity, p_seq) order by seq offset 0) e;
    if added is null then
        return foja.request_documents(asked, asked_seqs);
    elsif not foja.add_documents(added, added_seqs) then
        return false;
    elsif asked is not null and not foja.request_documents(asked, asked_seqs) then
        perform foja.track_document(new) from foja.events_at(asked, asked_seqs) new;
    end if;
    return true;
end $$;

-- Track a batch of events together; returns their kind, or null if each has to be tracked by itself.
create function foja.track_together(p_entity uuid[], p_seq bigint[]) returns text
language plpgsql as $$
declare
    first text;
    last text;
    admissions boolean;
begin
    if cardinality(p_seq) = 1 then
        return null;
    end if;
    select min(e.kind), max(e.kind), bool_and(e.kind in ('document.added', 'document.protected.requested'))
    into first, last, admissions
    from foja.events_at(p_entity, p_seq) e;
    if first like 'job.%' then
        return case when foja.open_attempts(p_entity, p_seq) then first end;
    elsif admissions then
        return case when foja.admit_documents(p_entity, p_seq) then first end;
    elsif first <> last then
        return null;
    end if;
    return case first when 'tsa.confirmed' then case when foja.confirm_timestamps(p_entity, p_seq) then first end
        when 'artifact.finalized' then case when foja.finalize_documents(p_entity, p_seq) then first end end;
end $$;
