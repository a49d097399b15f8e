"""Hardware-recorded instruction semantics: forms, inputs, build, record and replay."""
