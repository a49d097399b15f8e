"""Many runs of one program: the points of a sweep, where their reports are kept, what runs them, what shows them."""
