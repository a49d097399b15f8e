"""What is known about each GPU generation and board, and what follows from that alone: occupancy."""
