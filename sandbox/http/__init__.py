"""HTTP/1.1 on sockets, with limits on connections before their clients are authenticated."""
