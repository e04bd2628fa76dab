"""The ports of storage over this process's memory: for tests, and for what need not be kept."""
