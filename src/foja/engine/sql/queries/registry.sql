-- name: registered_domains
-- Every registered domain in the form in which it was registered, with what is reserved for Foja marked.
select d.domain, d.reserved, jsonb_build_object(
    'domain', d.domain, 'head_only', d.head_only, 'executor', d.executor,
    'kinds', (select coalesce(jsonb_agg(jsonb_build_object('kind', k.kind, 'v', k.v,
            'sources', (select jsonb_agg(s order by s) from unnest(k.sources) s), 'required', k.required,
            'erasable', k.erasable, 'wakes', k.wakes, 'tracked', k.tracked, 'retired', k.retired,
            'keyed_by', to_jsonb(k.keyed_by), 'client_checks', k.client_checks)), '[]') from foja.kind k where k.domain = d.domain and not k.reserved),
    'jobs', (select coalesce(jsonb_agg(jsonb_build_object('type', t.type, 'source', t.source,
            'lease', extract(epoch from t.lease)::double precision, 'max_tries', t.max_tries,
            'backoff', extract(epoch from t.backoff)::double precision,
            'backoff_most', extract(epoch from t.backoff_most)::double precision, 'serial', t.serial, 'level', t.level,
            'asked_by', t.asked_by)), '[]')
        from foja.job_type t where t.domain = d.domain))
from foja.domain d order by d.domain;

-- name: register_domain
-- Register a domain, or what it has that is new. Only the owner of the schema may.
select foja.register_domain(%(definition)s::jsonb, %(own)s);
