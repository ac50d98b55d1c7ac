-- Remove the alerts. Failures of routes and states of alerts are lost; nothing else depends on them.

-- Domains are registered at the newest step only. Kinds and domains that streams were written with stay; their jobs go,
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

drop function foja.record_alerts_v1, foja.settle_notice_v1, foja.count_http_failures_v1, foja.note_balance_v1,
    foja.database_state_v1;
drop table foja.alert_round, foja.alert_state, foja.alert_notice, foja.http_failure, foja.anchor_balance;
