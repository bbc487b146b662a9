-- The common rights of all modules.

-- Grants the rights of workers and inspectors on a module's schema, and revokes PostgreSQL's
-- default rights of PUBLIC. The module's rights.sql calls it first, and grants or revokes the rest.
--   hidden  columns that inspectors must not read: {"table": ["column", …]}
--
-- A function that runs with its caller's rights needs no protection. A function that runs with its
-- owner's rights (SECURITY DEFINER) is granted by name.
CREATE OR REPLACE FUNCTION errand.grant_rights(module text, hidden jsonb DEFAULT '{}')
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    of record;
BEGIN
    EXECUTE format('REVOKE ALL ON ALL FUNCTIONS IN SCHEMA %I FROM PUBLIC', module);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO errand_worker, errand_inspector', module);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I '
        'TO errand_worker', module);
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO errand_worker', module);
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I '
        'GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO errand_worker', module);
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I '
        'GRANT USAGE, SELECT ON SEQUENCES TO errand_worker', module);
    FOR of IN
        SELECT c.oid::regclass AS name, hidden ? c.relname AS is_partial,
            string_agg(quote_ident(a.attname), ', ')
                FILTER (WHERE NOT coalesce(hidden -> c.relname ? a.attname, false)) AS columns
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = module::regnamespace AND c.relkind IN ('r', 'p', 'v')
        GROUP BY c.oid
    LOOP
        IF of.is_partial THEN
            EXECUTE format('REVOKE SELECT ON %s FROM errand_inspector', of.name);
            EXECUTE format('GRANT SELECT (%s) ON %s TO errand_inspector', of.columns, of.name);
        ELSE
            EXECUTE format('GRANT SELECT ON %s TO errand_inspector', of.name);
        END IF;
    END LOOP;
    FOR of IN
        SELECT p.oid::regprocedure AS name, p.provolatile <> 'v' AS is_reading
        FROM pg_proc p
        WHERE p.pronamespace = module::regnamespace AND p.prokind = 'f' AND NOT p.prosecdef
          -- Functions of an extension that was created in this schema.
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
              AND d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO errand_worker', of.name);
        IF of.is_reading THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO errand_inspector', of.name);
        END IF;
    END LOOP;
END $$;
