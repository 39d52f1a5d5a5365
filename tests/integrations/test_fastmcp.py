"""A FastMCP server with our search transform, used by FastMCP's own client."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("fastmcp")

from fastmcp import Client, FastMCP

from shortlist.integrations.fastmcp import MOST_CATALOGS, ShortlistSearchTransform

SECONDS = 60.0


def track_shipment(order: str) -> str:
    """Show where the parcel of an order is now."""
    return f"{order} is in Leeds"


def refund_payment(payment: str) -> str:
    """Send money back to the customer's card."""
    return f"{payment} was refunded"


def track_employee(name: str) -> str:
    """Show where an employee of the parcel service is now."""
    return name


def make_shop(**options: Any) -> Any:
    shop: Any = FastMCP("Shop", transforms=[ShortlistSearchTransform(**options)])
    shop.tool(track_shipment)
    shop.tool(refund_payment, title="Money back")
    shop.tool(track_employee, tags={"internal"})
    return shop


def talk(shop: Any, use: Callable[[Callable[..., Awaitable[Any]]], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(SECONDS), Client(shop) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                return (await client.call_tool(tool, arguments)).data

            await use(call)

    asyncio.run(main())


def names_of(found: Any) -> list[str]:
    return [tool["name"] for tool in found]


def test_clients_see_two_tools_and_find_and_call_the_others() -> None:
    async def use(call: Any) -> None:
        (found,) = await call("search_tools", query="where is the parcel of my order?")
        assert (found["name"], found["inputSchema"]["required"]) == ("track_shipment", ["order"])
        assert await call("call_tool", name="track_shipment", arguments={"order": "7"}) == "7 is in Leeds"
        assert names_of(await call("search_tools", query="money back")) == ["refund_payment"]

    shop = make_shop()
    talk(shop, use)
    assert [tool.name for tool in asyncio.run(shop.list_tools())] == ["search_tools", "call_tool"]


def test_without_a_match_the_answer_is_the_reason() -> None:
    async def use(call: Any) -> None:
        assert (await call("search_tools", query="xyzzy plugh")).startswith("No tool fits. None of the query terms")
        with pytest.raises(Exception, match="'query' must be a non-empty string"):
            await call("search_tools", query=" ")

    talk(make_shop(), use)


def test_the_arguments_of_other_transforms_and_options_of_the_search_apply() -> None:
    async def use(call: Any) -> None:
        found = await call("find", query="where is the parcel or the money now")
        assert len(names_of(found)) == 2
        assert "refund_payment" not in names_of(found)  # it is always visible, so it need not be found

    shop = make_shop(
        k=3, max_results=2, always_visible=["refund_payment"], search_tool_name="find", call_tool_name="run"
    )
    talk(shop, use)
    tools = {tool.name: tool for tool in asyncio.run(shop.list_tools())}
    assert list(tools) == ["refund_payment", "find", "run"]
    assert "with run" in (tools["find"].description or "")


def test_tools_that_a_client_may_not_see_are_not_found_and_changes_are_followed() -> None:
    shop = make_shop()
    shop.disable(tags={"internal"})

    async def use(call: Any) -> None:
        query = "where is the employee of the parcel service now?"
        assert "track_employee" not in names_of(await call("search_tools", query=query))
        shop.enable(tags={"internal"})
        assert "track_employee" in names_of(await call("search_tools", query=query))

    talk(shop, use)


def test_a_server_without_tools_and_many_different_catalogs_are_no_problem() -> None:
    shop: Any = FastMCP("Shop")
    transform = ShortlistSearchTransform()
    shop.add_transform(transform)

    async def use(call: Any) -> None:
        assert await call("search_tools", query="anything") == "No tool fits. This server has no other tools."
        for number in range(MOST_CATALOGS + 1):
            shop.tool(lambda: 1, name=f"tool_{number}", description=f"Count the apples of basket {number}.")
            assert names_of(await call("search_tools", query=f"apples of basket {number}"))[0] == f"tool_{number}"

    talk(shop, use)
    assert len(transform._toolboxes) == MOST_CATALOGS
