"""`Search`: candidates drawn by Optuna, judged fold by fold, stopped early, resumed, on workers."""
