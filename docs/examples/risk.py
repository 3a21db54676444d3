"""How risky a payment is."""

SHARE = {"de": 0.0005, "fr": 0.001}


def risk(amount: float, country: str) -> float:
    """The risk of a payment, from 0 to 1."""
    return min(1.0, amount * SHARE[country])
