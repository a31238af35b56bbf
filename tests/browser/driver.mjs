// Reads one JSON command a line on standard input, answers each with one JSON line: the scenes' hand on the browser.

import { createInterface } from 'node:readline';
import { Kit } from './kit.mjs';

let kit = null;
for await (const line of createInterface({ input: process.stdin })) {
  const { do: what, ...args } = JSON.parse(line);
  const began = Date.now();
  try {
    let value = null;
    if (what === 'launch') kit = await Kit.launch(args);
    else value = await kit[what](args);
    console.log(JSON.stringify({ value: value ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ error: `${what}: ${error.message}` }));
  }
  if (process.env.SCENE_TIMES) console.error(`${String(Date.now() - began).padStart(6)} ms ${what} ${line.length < 200 ? line : ''}`);
}
await kit?.close();
