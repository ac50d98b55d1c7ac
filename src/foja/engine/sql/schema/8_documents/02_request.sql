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

-- The evidence of the last request that is not confirmed, or null.
create function foja.missing_evidence(d foja.document) returns text
language sql stable
return (select string_agg(each, ', ') from unnest(d.required_evidence) each
    where not foja.is_confirmed(d.entity_id, each, d.witness_hash));

-- Whether the last request requires this evidence for this witness.
create function foja.is_required(d foja.document, p_evidence text, p_witness text) returns boolean
language sql immutable parallel safe
return coalesce(d.witness_hash = p_witness and p_evidence = any (d.required_evidence), false);

create function foja.check_live(d foja.document) returns void
language plpgsql stable as $$
begin
    if d.finalized then
        perform foja.refuse('document_final', format('%s is final; add the new version as a new document', d.entity_id));
    elsif d.closed is not null then
        perform foja.refuse('document_closed', format('%s was %s', d.entity_id, d.closed));
    end if;
end $$;

-- Nothing goes on while a witness is required and not ready.
create function foja.check_witness(d foja.document) returns void
language plpgsql stable as $$
begin
    if d.witness_status = 'required' then
        perform foja.refuse('precondition_failed:missing_witness',
            format('%s requires a witness; append document.witness.ready first', d.entity_id));
    end if;
end $$;

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

-- Required evidence is equal within a stage and only grows between stages; stages never go back.
create function foja.check_growth(d foja.document, new foja.event, p_stage text, p_witness text, p_evidence text[])
returns void
language plpgsql stable as $$
declare
    first bigint;
    step integer := foja.stage_rank(p_stage) - foja.stage_rank(d.stage);
begin
    if step < 0 then
        perform foja.refuse('bad_payload', format('the stage is %s already', coalesce(d.stage, 'final')));
    elsif not p_evidence @> d.required_evidence or step = 0 and not p_evidence <@ d.required_evidence then
        perform foja.refuse('bad_payload', format(
            'required_evidence is equal within a stage and only grows after it; it is %s', d.required_evidence));
    end if;
    first := foja.find_request(new.entity_id, p_stage, p_witness, new.seq);
    if first is not null then
        perform foja.refuse('already_requested', format('event %s requests the same', first));
    end if;
end $$;

-- Only the last request counts: what was open for another witness is superseded, and so is the artifact.
create function foja.track_request(new foja.event, payload jsonb, d foja.document) returns void
language plpgsql as $$
declare
    witness text := payload ->> 'witness_hash';
    new_stage text := payload ->> 'stage';
    problem text := foja.evidence_problem(payload -> 'required_evidence');
    evidence text[];
begin
    perform foja.check_live(d);
    perform foja.check_witness(d);
    if problem is not null then
        perform foja.refuse_for(problem);
    elsif foja.stage_rank(new_stage) is null then
        perform foja.refuse('bad_payload', 'not a valid stage: expected initial, intermediate or final');
    end if;
    evidence := array(select distinct jsonb_array_elements_text(payload -> 'required_evidence'));
    if d.requested_seq is not null then
        perform foja.check_growth(d, new, new_stage, witness, evidence);
        perform foja.supersede_attempts(new.entity_id, 'superseded by a new request', witness);
    end if;
    update foja.document set witness_hash = witness, witness_status = 'ready', stage = new_stage,
        required_evidence = evidence, requested_seq = new.seq where entity_id = new.entity_id;
end $$;

-- New attempts are granted for what the last request requires, was attempted and is not confirmed.
create function foja.check_retry(payload jsonb, d foja.document) returns void
language plpgsql stable as $$
declare
    granted text := payload ->> 'evidence';
    witness text := payload ->> 'witness_hash';
begin
    perform foja.check_live(d);
    if granted <> 'artifact' and not foja.is_required(d, granted, witness) or d.requested_seq is null then
        perform foja.refuse('precondition_failed:missing_request', format('%s of %s is not required', granted, witness));
    elsif not exists (select from foja.attempt a where a.entity_id = d.entity_id and a.evidence = granted
            and (a.witness_hash = witness or granted = 'artifact')) then
        perform foja.refuse('precondition_failed:not_asked', format('%s of %s was not attempted yet', granted, witness));
    elsif foja.is_confirmed(d.entity_id, granted, witness) then
        perform foja.refuse('already_confirmed', format('%s of %s is confirmed', granted, witness));
    end if;
end $$;
