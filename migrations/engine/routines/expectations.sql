-- Checks of arguments, for the functions of all modules.

-- Raises an error with this text unless is_so is true.
CREATE OR REPLACE FUNCTION errand.expect(is_so boolean, what text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF is_so IS NOT TRUE THEN
        RAISE EXCEPTION '%', what USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;

-- Raises the refusal of a rule, which is nobody's mistake: SQLSTATE RU001, the reason as DETAIL.
-- Drivers take the classes 53 to 58 for a server that is down; class RU is Errand's own.
CREATE OR REPLACE FUNCTION errand.refuse(reason text, what text, hint text DEFAULT NULL)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF hint IS NULL THEN
        RAISE EXCEPTION '%', what USING ERRCODE = 'RU001', DETAIL = reason;
    END IF;
    RAISE EXCEPTION '%', what USING ERRCODE = 'RU001', DETAIL = reason, HINT = hint;
END $$;

-- Raises the error of something that is not ready yet: SQLSTATE RU002. The same call succeeds
-- later.
CREATE OR REPLACE FUNCTION errand.ask_again(what text, hint text DEFAULT 'Call again in a second.')
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', what USING ERRCODE = 'RU002', DETAIL = 'not_ready', HINT = hint;
END $$;
