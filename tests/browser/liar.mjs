// A hub that lies: a proxy between page and hub that changes any member of any JSON answer on its way.

import http from 'node:http';

/** Listens on a free loopback port and passes everything on to the hub at `port`, unchanged until told to lie. */
export async function startLiar(port) {
  let lies = [];
  let told = 0;
  const bodies = [];
  const server = http.createServer((request, response) => {
    const options = { host: '127.0.0.1', port, method: request.method, path: request.url, headers: request.headers };
    const onward = http.request(options, (answer) => {
      const json = (answer.headers['content-type'] ?? '').startsWith('application/json');
      const mine = lies.filter((lie) => request.url.startsWith(lie.path));
      if (mine.length === 0 || !json) {
        response.writeHead(answer.statusCode, answer.headers);
        answer.pipe(response);
        return;
      }
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        const body = Buffer.concat(parts).toString();
        const changed = mine.reduce(change, body);
        if (changed !== body) told += 1;
        const headers = { ...answer.headers, 'content-length': Buffer.byteLength(changed) };
        delete headers['transfer-encoding'];
        response.writeHead(answer.statusCode, headers);
        response.end(changed);
      });
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    const sent = [];
    request.on('data', (part) => sent.push(part));
    request.on('end', () => bodies.push({ path: request.url, body: Buffer.concat(sent).toString() }));
    request.pipe(onward);
  });
  await new Promise((ready) => { server.listen(0, '127.0.0.1', ready); });
  return {
    port: server.address().port,
    /** From now on, until `truth`: each lie is `{path, at, to}`. */
    lie(next) { lies = next; told = 0; },
    /** Stops lying; says how many answers were changed. */
    truth() { lies = []; return told; },
    /** The JSON bodies sent to this path since the last call, for any path. */
    posted(path) {
      const mine = bodies.filter((one) => one.path === path).map((one) => JSON.parse(one.body));
      bodies.length = 0;
      return mine;
    },
    close() { server.closeAllConnections(); server.close(); },
  };
}

/** Sets the members at the paths `at` (`*` is every member of an array) to `to`, or drops them when `to` is left out. */
function change(body, { at, to }) {
  const tree = JSON.parse(body);
  for (const path of at) walk(tree, path, to);
  return JSON.stringify(tree);
}

function walk(node, [first, ...rest], to) {
  if (node === null || typeof node !== 'object') return;
  const keys = first === '*' ? Object.keys(node) : [first];
  for (const key of keys) {
    if (rest.length > 0) walk(node[key], rest, to);
    else if (to === undefined) delete node[key];
    else node[key] = to;
  }
}
