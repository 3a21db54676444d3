"""Programs on logs: a log in, a log out, with the queues that a backend turns out to need."""
