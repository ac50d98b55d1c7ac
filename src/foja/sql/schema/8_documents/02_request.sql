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
