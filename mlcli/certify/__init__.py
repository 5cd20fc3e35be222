"""The certificate: what a run computed, checked again from its input by other means."""
