// Real Node as an upstream that says what it read. Listens on as many free ports as it has names
// and prints, a line each: {"ports"}, every whole request {"at", "request"}, every stream that it
// refused {"at", "refused"}. Ends when its standard input does, after all that it was sent is said.
'use strict';
const http = require('http');

const names = process.argv.slice(2);
const ports = {};
const servers = [];
const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');

function serve(at) {
  const server = http.createServer({ keepAliveTimeout: 60000, maxHeaderSize: 65536 });
  server.on('request', (request, response) => {
    const pieces = [];
    request.on('error', () => {});
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', () => {
      const headers = [];
      for (let i = 0; i < request.rawHeaders.length; i += 2) {
        headers.push([request.rawHeaders[i].toLowerCase(), request.rawHeaders[i + 1]]);
      }
      say({ at, request: { method: request.method, target: request.url, headers,
                           body: Buffer.concat(pieces).toString('latin1') } });
      response.end('read');
    });
  });
  server.on('clientError', (error, socket) => {
    if (error.code !== 'ECONNRESET') say({ at, refused: error.code || String(error) });
    if (socket.writable) socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    else socket.destroy();
  });
  return server;
}

let missing = names.length;
for (const at of names) {
  const server = serve(at);
  servers.push(server);
  server.listen(0, '127.0.0.1', () => {
    ports[at] = server.address().port;
    if (--missing === 0) say({ ports });
  });
}
process.stdin.on('end', () => {
  let open = servers.length;
  for (const server of servers) {
    server.close(() => { if (--open === 0) process.exit(0); });
    server.closeIdleConnections();
  }
});
process.stdin.resume();
