-- Documents under the names of the seed, for programs that know only these names.

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

-- Why this is not the envelope of an event of that document, or null.
create function foja.envelope_problem(p_document uuid, p_event jsonb) returns text
language plpgsql stable as $$
declare
    unknown text;
begin
    if p_document is null or jsonb_typeof(p_event) is distinct from 'object' or p_event ->> 'kind' is null then
        return 'bad_payload: an event must be an object with a kind and a payload';
    elsif coalesce(p_event ->> 'entity_id', p_document::text) <> p_document::text then
        return format('wrong_entity: the event names another entity, %s', p_event ->> 'entity_id');
    end if;
    select string_agg(key, ', ') into unknown from jsonb_object_keys(p_event) key where key not in
        ('id', 'seq', 'kind', 'at', 'v', 'actor', 'entity_id', 'correlation_id', '_source', 'payload');
    if unknown is not null then
        return format('bad_payload: the body of an event is in its payload; move these fields there: %s', unknown);
    end if;
    return null;
end $$;

-- Append one event; the given `at` and `correlation_id` are ignored. An equal request returns the first one.
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
    perform foja.check_tenant(here, p_document_entity_id, 'document');
    perform from foja.entity e where e.entity_id = p_document_entity_id and e.tenant = here for no key update;
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
