"""What gradients cost and what model they make: data, privacy, forecasts, and batched training."""
