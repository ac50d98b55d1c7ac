-- name: approvals
-- What was asked and decided in one conversation, in order, and what time it is.
select seq, event_id as id, kind, v, at, actor, source, payload, body_hash, clock_timestamp() as now
from foja.approval_event join foja.event using (entity_id, seq, tenant)
where entity_id = %(entity)s and tenant = %(tenant)s
    and (%(approval)s::text is null or payload ->> 'approval_id' = %(approval)s or event_id = %(decision)s)
order by seq;

-- name: due_approvals
-- Requests past their deadline, the oldest first, except those of held streams.
select tenant, entity_id, event_id from foja.approval_due
where due <= clock_timestamp() and entity_id <> all (%(held)s::uuid[]) order by due limit %(most)s;

-- name: expire_approval
-- Write down that one request was not decided in time.
select foja.expire_approval(%(entity)s, %(event)s);
