"""`sandbox open` opens the console in a browser."""

from urllib.parse import quote

import click

from sandbox.cli.control import Remote, server_options
from sandbox.cli.exit_status import refuse
from sandbox.cli.tables import say


@click.command("open")
@click.option("--print", "only_print", is_flag=True, help="Print the address; open no browser.")
@server_options
def open_console(*, world_id: str, url: str, token: str | None, only_print: bool) -> None:
    """Open the console of a server in a browser.

    The address signs in where the server has a token, so take care who sees it.

    \b
    Examples:
      sandbox open
      sandbox open --world friday
      sandbox open --print
    """
    server = Remote(url=url, token=token)
    server.read("GET", "/worlds/" + quote(world_id, safe=""))
    place = f"/{quote(world_id, safe='')}/overview"
    signs_in = f"token={quote(token, safe='')}" if token else ""
    address = f"{server.address('/')}#{signs_in}{place}"
    if only_print:
        say(address)
        return
    import webbrowser

    if not webbrowser.open(address):
        refuse("no browser could be opened here; --print shows the address")
    say("opened in your browser")
