"""The floor in Python: the calls of W3 and W5 by hand, with asyncio and aiohttp and no engine.

`python floor.py wide URL`, `python floor.py conversations URL`: prints how many answers were right.
"""

import asyncio
import json
import sys

import aiohttp

WIDE = 500
RUNS = 200


async def ask(session, url, prompt):
    """One streamed call, as OpenAI's chat format has it."""
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "stream": True}
    text = []
    async with session.post(url + "/chat/completions", json=body) as answer:
        answer.raise_for_status()
        async for line in answer.content:
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            choices = json.loads(line[6:]).get("choices")
            if choices:
                text.append(choices[0]["delta"].get("content") or "")
    return "".join(text)


async def wide(session, url):
    plan = await ask(session, url, "Begin.")
    answers = await asyncio.gather(*(ask(session, url, f"Number {number} of {plan}") for number in range(WIDE)))
    await ask(session, url, f"Sum up {len(answers)}: {''.join(answers)}")
    return sum(answer == "fine" for answer in answers)


async def talk(session, url, number):
    await ask(session, url, f"You plan. Question {number}")
    manner = "plain" if number % 2 else "rough"
    prompt = f"You compose. Question {number}, {manner}: hours of {number}"
    for _ in range(2):
        draft = await ask(session, url, prompt)
        fitted = await ask(session, url, f"You format. {draft}")
        verdict = json.loads(await ask(session, url, f"You judge. {fitted}"))["verdicts"][0]
        if verdict["passed"]:
            return fitted == "a fine reply"
        prompt = f"{prompt} {draft} {verdict['feedback']}"
    return False


async def conversations(session, url):
    return sum(await asyncio.gather(*(talk(session, url, number) for number in range(RUNS))))


async def main(kind, url):
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        print(await {"wide": wide, "conversations": conversations}[kind](session, url))


asyncio.run(main(*sys.argv[1:]))
