-- No job is done any more. The jobs are kept for the way up, and streams that grow meanwhile stay noted in `woken`.

select foja.keep_rows('foja.job_type', 'foja.job', 'foja.tick');
alter table foja.domain drop constraint domain_executor_fkey;
