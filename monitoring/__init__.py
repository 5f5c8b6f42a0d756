"""What watches the pool: Prometheus' configuration and rules, and Grafana's one dashboard, which is written by code."""
