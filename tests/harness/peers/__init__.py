"""Upstreams, services and applications that Semel talks to in tests."""
