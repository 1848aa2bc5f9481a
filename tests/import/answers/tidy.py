from promptflow.core import tool


@tool
def tidy(text: str, most: int, fallback: str) -> str:
    return (text or fallback)[:most]
