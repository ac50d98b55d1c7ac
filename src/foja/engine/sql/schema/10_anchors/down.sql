-- Back to a schema without anchors. What was sent is kept for the way up: it was paid for.

select foja.keep_rows('foja.anchor_network', 'foja.anchor_account', 'foja.anchor_batch', 'foja.anchor_member');
update foja.domain set guard = null where domain = 'system';
update foja.kind set tracked = false where domain = 'system' and tracked;
