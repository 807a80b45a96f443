"""The rules as data: settings with their sources, models, line-ups, the field."""
