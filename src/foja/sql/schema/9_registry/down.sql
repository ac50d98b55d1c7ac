-- Back to a schema without registered domains. Kinds and domains that streams were written with stay; their jobs go,
-- since no process could do them.

update foja.kind set tracked = false, wakes = false where tracked or wakes;
update foja.domain set executor = null where executor is not null;
update foja.entity set awake = null where awake is not null;
delete from foja.woken;
delete from foja.tick;
delete from foja.job;
delete from foja.job_type;
delete from foja.source;
delete from foja.kind k where not exists (select from foja.entity e where e.domain = k.domain);
delete from foja.domain d where not d.reserved and not exists (select from foja.entity e where e.domain = d.domain);

drop function foja.register_domain, foja.register_job_type, foja.register_kind, foja.ensure_role, foja.check_contents,
    foja.check_names, foja.check_name, foja.sources_of, foja.require;
