SELECT semel.claim('acme', 'orders', 'order-1');
