-- Back to a schema without alerts. What fires is kept for the way up.

select foja.keep_rows('foja.alert_round', 'foja.alert_state', 'foja.alert_notice', 'foja.http_failure',
    'foja.anchor_balance');
