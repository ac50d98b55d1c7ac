-- Back to a schema without webhooks. They and their deliveries are kept for the way up.

select foja.keep_rows('foja.webhook', 'foja.webhook_secret', 'foja.webhook_delivery', 'foja.webhook_attempt');
