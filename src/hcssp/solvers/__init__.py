"""The methods: each a solver object that tells its progress, and ``solve``, which runs any of them."""
