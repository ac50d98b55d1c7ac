-- Guards of requests and of grants of new attempts.

create function foja.is_hash(value text) returns boolean
language sql immutable parallel safe
return coalesce(octet_length(value) = 64 and value !~ '[^0-9a-f]', false);  -- counting in the pattern costs six times as much

create function foja.stage_rank(stage text) returns integer
language sql immutable parallel safe
return array_position(array['initial', 'intermediate', 'final'], coalesce(stage, 'final'));

-- The row of a document, looked up by itself: a plan that was made while the table was empty would read it whole.
create function foja.document_at(p_entity uuid) returns setof foja.document
language sql stable as $$
    select * from foja.document d where d.entity_id = p_entity offset 0;
$$;

-- Whether this evidence is confirmed for this witness, and not taken back.
create function foja.is_confirmed(p_entity uuid, p_evidence text, p_witness text) returns boolean
language sql stable
return exists (select from foja.attempt a where a.entity_id = p_entity and a.evidence = p_evidence
    and a.witness_hash = p_witness and a.state = 'confirmed');

-- Whether the last request requires this evidence for this witness.
create function foja.is_required(d foja.document, p_evidence text, p_witness text) returns boolean
language sql immutable parallel safe
return coalesce(d.witness_hash = p_witness and p_evidence = any (d.required_evidence), false);

-- Why nothing can be requested or done about a document, written `code: words`, or null. Nothing goes on while a witness is
-- required and not ready.
create function foja.standing_problem(d foja.document) returns text
language sql stable parallel safe
return case when d.finalized then format('document_final: %s is final; add the new version as a new document', d.entity_id)
    when d.closed is not null then format('document_closed: %s was %s', d.entity_id, d.closed)
    when d.witness_status = 'required' then format(
        'precondition_failed:missing_witness: %s requires a witness; append document.witness.ready first', d.entity_id) end;

-- Why this list is not valid, or null.
create function foja.evidence_problem(required jsonb) returns text
language plpgsql immutable as $$
declare
    unknown text;
begin
    if jsonb_typeof(required) is distinct from 'array' or not required ? 'tsa' then
        return 'bad_payload: required_evidence must be a list that contains tsa';
    elsif required <@ '["tsa", "polygon", "bitcoin", "rekor"]' then
        return null;
    end if;
    select string_agg(coalesce(each #>> '{}', 'null'), ', ') into unknown from jsonb_array_elements(required) each
    where jsonb_typeof(each) <> 'string' or each #>> '{}' not in ('tsa', 'polygon', 'bitcoin', 'rekor');
    return format('bad_payload: required_evidence accepts tsa, polygon, bitcoin and rekor, not %s', unknown);
end $$;

-- Refuse evidence that this installation cannot produce.
create function foja.check_ability(required jsonb) returns void
language plpgsql stable as $$
declare
    abilities jsonb := (select coalesce(jsonb_agg(a.evidence), '[]') from foja.ability a);
begin
    if not required <@ abilities then
        perform foja.refuse('cannot_produce', format('this installation cannot produce %s',
            (select string_agg(each, ', ') from jsonb_array_elements_text(required) each where not abilities ? each)));
    end if;
end $$;

-- The number of the first request of this stage and witness, or null.
create function foja.find_request(p_entity uuid, p_stage text, p_witness text, p_before bigint) returns bigint
language sql stable
return (select min(e.seq) from foja.event e where e.entity_id = p_entity and e.seq < p_before
    and e.kind = 'document.protected.requested' and e.payload ->> 'witness_hash' = p_witness
    and coalesce(e.payload ->> 'stage', 'final') = coalesce(p_stage, 'final'));

-- Why a request cannot follow the last one, or null. Required evidence is equal within a stage and only grows between stages;
-- stages never go back.
create function foja.growth_problem(d foja.document, p_seq bigint, p_stage text, p_witness text, p_evidence jsonb) returns text
language plpgsql stable as $$
declare
    first bigint;
    step integer := foja.stage_rank(p_stage) - foja.stage_rank(d.stage);
begin
    if step < 0 then
        return format('bad_payload: the stage is %s already', coalesce(d.stage, 'final'));
    elsif not p_evidence @> to_jsonb(d.required_evidence) or step = 0 and not p_evidence <@ to_jsonb(d.required_evidence) then
        return format('bad_payload: required_evidence is equal within a stage and only grows after it; it is %s',
            d.required_evidence);
    end if;
    first := foja.find_request(d.entity_id, p_stage, p_witness, p_seq);
    return case when first is not null then format('already_requested: event %s requests the same', first) end;
end $$;

-- `document.protected.requested`, each of its own document. Only the last request counts: what was open for another witness
-- is superseded, and so is the artifact.
create function foja.request_documents(p_entity uuid[], p_seq bigint[]) returns void
language plpgsql as $$
declare
    problem text;
    again boolean;
    seqs bigint[];
    documents uuid[];
    witnesses text[];
    stages text[];
    required jsonb[];
begin
    select min(coalesce(foja.standing_problem(d), foja.evidence_problem(w.required), case
            when foja.stage_rank(w.stage) is null then 'bad_payload: not a valid stage: expected initial, intermediate or final'
            when d.requested_seq is not null then foja.growth_problem(d, new.seq, w.stage, w.witness, w.required) end)),
        bool_or(d.requested_seq is not null), array_agg(new.entity_id), array_agg(new.seq), array_agg(w.witness),
        array_agg(w.stage), array_agg(w.required)
    into problem, again, documents, seqs, witnesses, stages, required
    from foja.events_at(p_entity, p_seq) new cross join lateral foja.document_at(new.entity_id) d
    cross join lateral (select p ->> 'witness_hash' as witness, p ->> 'stage' as stage, p -> 'required_evidence' as required
        from (select new.payload::jsonb as p offset 0) body offset 0) w;
    perform foja.refuse_problem(problem);
    if again then
        perform foja.supersede_attempts(u.entity_id, 'superseded by a new request', u.witness)
        from unnest(documents, witnesses) u(entity_id, witness);
    end if;
    update foja.document d set witness_hash = u.witness, witness_status = 'ready', stage = u.stage,
        required_evidence = array(select distinct jsonb_array_elements_text(u.required)), requested_seq = u.seq
    from unnest(documents, seqs, witnesses, stages, required) u(entity_id, seq, witness, stage, required)
    where d.entity_id = u.entity_id;
end $$;

-- New attempts are granted for what the last request requires, was attempted and is not confirmed.
create function foja.check_retry(payload jsonb, d foja.document) returns void
language plpgsql stable as $$
declare
    granted text := payload ->> 'evidence';
    witness text := payload ->> 'witness_hash';
begin
    if d.finalized or d.closed is not null then
        perform foja.refuse_for(foja.standing_problem(d));
    elsif granted <> 'artifact' and not foja.is_required(d, granted, witness) or d.requested_seq is null then
        perform foja.refuse('precondition_failed:missing_request', format('%s of %s is not required', granted, witness));
    elsif not exists (select from foja.attempt a where a.entity_id = d.entity_id and a.evidence = granted
            and (a.witness_hash = witness or granted = 'artifact')) then
        perform foja.refuse('precondition_failed:not_asked', format('%s of %s was not attempted yet', granted, witness));
    elsif foja.is_confirmed(d.entity_id, granted, witness) then
        perform foja.refuse('already_confirmed', format('%s of %s is confirmed', granted, witness));
    end if;
end $$;
