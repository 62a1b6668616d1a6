"""`Search`: candidates drawn by Optuna, scored fold by fold, stopped early, resumed, on workers."""
