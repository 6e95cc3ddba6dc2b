"""Cost of gradients and the model that they make: data, privacy, forecasts, training, audit."""
