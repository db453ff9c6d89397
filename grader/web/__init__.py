"""What the web applications share: headers, limits on requests, one person's access, a server."""
