"""What serves the application: uvicorn, its protocol, TLS, the banner, the log, a thread."""
