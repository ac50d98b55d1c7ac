-- Return to a schema that only its owner can use. The roles stay: they belong to the
-- whole server, and another database may need them.

drop policy owner_works on foja.entity;
drop policy installation_reads on foja.entity;
drop policy tenant_reads on foja.entity;
drop policy owner_works on foja.event;
drop policy installation_reads on foja.event;
drop policy tenant_reads on foja.event;
drop policy owner_works on foja.slot;
drop policy installation_reads on foja.slot;
drop policy tenant_reads on foja.slot;
drop policy owner_works on foja.voided;
drop policy installation_reads on foja.voided;
drop policy tenant_reads on foja.voided;
drop policy owner_works on foja.checkpoint;
drop policy installation_reads on foja.checkpoint;
drop policy published_reads on foja.checkpoint;
drop table foja.live_key;
alter table foja.entity disable row level security, no force row level security;
alter table foja.event disable row level security, no force row level security;
alter table foja.slot disable row level security, no force row level security;
alter table foja.voided disable row level security, no force row level security;
alter table foja.checkpoint disable row level security, no force row level security;

revoke all on all tables in schema foja from anon, authenticated, service_role, foja_api, foja_reader, foja_operator, foja_sweeper;
revoke all on all functions in schema foja from anon, authenticated, service_role, foja_api, foja_reader, foja_operator, foja_sweeper;
revoke usage on schema foja from anon, authenticated, service_role, foja_api, foja_reader, foja_operator, foja_sweeper;
grant execute on all functions in schema foja to public;
