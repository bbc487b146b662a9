-- Who has not used their account for a long time is notified before it is erased.
INSERT INTO people.unused_notifiers VALUES ('notification', 'tell_unused');
