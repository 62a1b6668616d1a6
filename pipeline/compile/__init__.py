"""What would run where, and why: plans, explanations, forecasts of memory."""
