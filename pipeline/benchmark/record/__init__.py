"""What a measurement leaves behind: results.json and tuning.json."""
