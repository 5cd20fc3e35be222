"""The certificate: checks of a run's results by formulas and code independent of those that computed them."""
