"""Privacy: noise mechanisms, accounting, claims, ledgers and release."""

from learning.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "budget": ("Budget",),
        "claims": ("Claim",),
        "gaussian": ("Gaussian",),
        "l2": ("L2",),
        "laplace": ("Laplace",),
        "ledger": ("Ledger",),
        "ledger_file": ("LedgerFile",),
        "mechanism": ("Mechanism", "NoiseSettings"),
        "mechanisms": ("MECHANISMS", "candidate_mechanisms"),
        "noise": ("where_noisy",),
    },
)
