"""HTTP/1.1 on sockets: what a connection may cost before anything is known about its client."""
