-- What a domain keeps beside its events, and what it refuses because of it. Called by whoever records
-- an event of a `tracked` kind, in the same transaction: each domain brings the function for its own.

create function foja.track(p_entity uuid, p_seq bigint) returns void
language plpgsql as $$
declare
    new foja.event;
begin
    select * into new from foja.event where entity_id = p_entity and seq = p_seq;
    case (select e.domain from foja.entity e where e.entity_id = p_entity)
        when 'conversation' then perform foja.track_approval(new);
        when 'document' then perform foja.track_document(new);
    end case;
end $$;
