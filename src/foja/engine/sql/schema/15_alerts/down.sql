-- Back to a schema without alerts. What fires is kept for the way up.

select foja.keep_rows('foja.alert_round', 'foja.alert_state', 'foja.alert_notice', 'foja.http_failure',
    'foja.anchor_balance');

drop function foja.record_alerts_v1, foja.settle_notice_v1, foja.count_http_failures_v1, foja.note_balance_v1,
    foja.database_state_v1, foja.record_health_v1, foja.claim_probes_v1;
drop table foja.health, foja.alert_round, foja.alert_state, foja.alert_notice, foja.http_failure, foja.anchor_balance;
