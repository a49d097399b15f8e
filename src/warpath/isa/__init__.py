"""The instruction as the machine stores it: control word, text, listing."""
