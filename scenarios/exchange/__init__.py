"""An exchange as people run it: contracts out of results, records by public rules, a shared folder, a rehearsal."""
