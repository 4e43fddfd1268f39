"""Clients and senders, and what they present: tokens, certificates, hostile framings."""
