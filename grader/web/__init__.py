"""The web applications, desk and practice, and what they share: safety, sign-in, a server."""
