-- Checks of arguments, for the functions of all modules.

-- Raises an error with this text unless is_so is true.
CREATE OR REPLACE FUNCTION errand.expect(is_so boolean, what text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF is_so IS NOT TRUE THEN
        RAISE EXCEPTION '%', what USING ERRCODE = 'invalid_parameter_value';
    END IF;
END $$;
