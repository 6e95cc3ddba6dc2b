"""The learner's part: collect answers, train the model, and settle what each owner is paid."""
