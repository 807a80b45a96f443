"""Training and measuring heads; needs the ``train`` extra where it says so."""
