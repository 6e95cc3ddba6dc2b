"""The market as a Mesa model: data owners who choose, a learner who pays, a model that orders their moves."""
