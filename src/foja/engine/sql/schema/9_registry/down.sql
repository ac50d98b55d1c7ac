-- Back to a schema that registers no domains. What was registered went with the newest step.

drop function foja.register_domain, foja.complete_definition, foja.each_with, foja.register_job_type, foja.register_kind, foja.adopt_roles, foja.ensure_role, foja.check_contents,
    foja.check_names, foja.check_name, foja.sources_of, foja.require;
