-- name: read_newest
-- The newest events of some kinds below a number, newest first; what was erased is left out.
select seq, kind, payload from foja.event
where entity_id = %(entity)s and tenant = %(tenant)s and seq < %(before)s
    and kind = any(%(kinds)s) and payload is not null
order by seq desc limit %(limit)s;
