"""The real servers that tests start: databases and brokers, on free ports, in folders of their own."""
