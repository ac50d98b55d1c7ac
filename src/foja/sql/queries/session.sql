-- name: act_as
-- Act as a role for the rest of the session.
select set_config('role', %(role)s, false);
