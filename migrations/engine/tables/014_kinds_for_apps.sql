-- Whether logins of apps may enqueue jobs of the kind; the program that runs it declares it.
ALTER TABLE errand.kinds ADD COLUMN for_apps boolean NOT NULL DEFAULT false;
