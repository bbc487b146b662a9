-- Canadian banking days and pay dates, as BankingDays.swift and Quarter.swift have them; a test
-- compares them.

-- Easter Sunday in the Gregorian calendar, by the anonymous algorithm (Jean Meeus, Astronomical
-- Algorithms, chapter 8).
CREATE OR REPLACE FUNCTION ledger.easter(year int) RETURNS date LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    golden CONSTANT int := year % 19;
    century CONSTANT int := year / 100;
    rest CONSTANT int := year % 100;
    correction CONSTANT int := (century - (century + 8) / 25 + 1) / 3;
    epact CONSTANT int := (19 * golden + century - century / 4 - correction + 15) % 30;
    weekday CONSTANT int :=
        (32 + 2 * (century % 4) + 2 * (rest / 4) - epact - rest % 4) % 7;
    late CONSTANT int := (golden + 11 * epact + 22 * weekday) / 451;
    total CONSTANT int := epact + weekday - 7 * late + 114;
BEGIN
    RETURN make_date(year, total / 31, total % 31 + 1);
END $$;

CREATE OR REPLACE FUNCTION ledger.monday_before(day date) RETURNS date LANGUAGE sql IMMUTABLE AS $$
    SELECT $1 - (extract(isodow FROM $1)::int - 1)
$$;

-- The holidays of Payments Canada's systems in a year, each on the day on which it is observed:
-- those on a weekend on the next day that is neither on a weekend nor a holiday.
CREATE OR REPLACE FUNCTION ledger.holidays(year int) RETURNS date[]
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    named CONSTANT date[] := ARRAY[
        make_date(year, 1, 1),
        -- Good Friday, Victoria Day, Canada Day and Labour Day.
        ledger.easter(year) - 2,
        ledger.monday_before(make_date(year, 5, 24)),
        make_date(year, 7, 1),
        ledger.monday_before(make_date(year, 9, 7))]
        -- The National Day for Truth and Reconciliation.
        || CASE WHEN year >= 2021 THEN ARRAY[make_date(year, 9, 30)] ELSE '{}' END
        || ARRAY[
        -- Thanksgiving, Remembrance Day, Christmas and Boxing Day.
        ledger.monday_before(make_date(year, 10, 14)),
        make_date(year, 11, 11),
        make_date(year, 12, 25),
        make_date(year, 12, 26)];
    observed date[] := '{}';
    day date;
BEGIN
    FOREACH day IN ARRAY named LOOP
        IF extract(isodow FROM day) > 5 THEN
            WHILE extract(isodow FROM day) > 5 OR day = ANY (named) OR day = ANY (observed) LOOP
                day := day + 1;
            END LOOP;
        END IF;
        observed := observed || day;
    END LOOP;
    RETURN observed;
END $$;

-- The day itself if it is a banking day, otherwise the next banking day.
CREATE OR REPLACE FUNCTION ledger.banking_day(day date) RETURNS date
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
BEGIN
    WHILE extract(isodow FROM day) > 5
        OR day = ANY (ledger.holidays(extract(year FROM day)::int)) LOOP
        day := day + 1;
    END LOOP;
    RETURN day;
END $$;

-- The next pay date on or after a day: the pay day in the month after a quarter, or the next
-- banking day.
CREATE OR REPLACE FUNCTION ledger.next_pay_date(day date, pay_day int) RETURNS date
LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_variable
DECLARE
    quarter date := date_trunc('quarter', day::timestamp)::date;
    pay_date date;
BEGIN
    LOOP
        pay_date := ledger.banking_day(quarter + pay_day - 1);
        EXIT WHEN pay_date >= day;
        quarter := (quarter + interval '3 months')::date;
    END LOOP;
    RETURN pay_date;
END $$;
