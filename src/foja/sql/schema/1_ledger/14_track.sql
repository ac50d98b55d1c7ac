-- What a domain keeps beside its events, and what it refuses because of it. Called by whoever records
-- an event of a `tracked` kind, in the same transaction: each domain brings the function for its own.

-- `p_at_head`: it got the next number of its stream, not one that was taken before.
create function foja.track(p_domain text, new foja.event, p_at_head boolean) returns void
language plpgsql as $$
begin
    case p_domain
        when 'conversation' then perform foja.track_approval(new);
        when 'document' then perform foja.track_document(new, p_at_head);
    end case;
end $$;
