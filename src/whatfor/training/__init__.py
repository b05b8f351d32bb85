"""The loop, its compiled twin, and what runs beside them."""
