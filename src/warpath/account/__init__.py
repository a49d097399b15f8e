"""Where a launch's time went: the ledger, what-if replays, and what they rest on."""
