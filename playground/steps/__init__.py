"""Steps of lessons whose drawing takes more than a few lines: each module draws one."""
