-- Back to a schema without keys. They are kept for the way up, and what was recorded about them stays in its streams.

select foja.keep_rows('foja.access_key', 'foja.access_secret', 'foja.access_session', 'foja.access_version',
    'foja.person');
