"""The apps that Flower runs: the only files that import it, by the extra ``federated``."""
