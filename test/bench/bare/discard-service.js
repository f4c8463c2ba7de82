import { createServer } from 'node:net';

/*
 * A minimal service that reads uploads and discards them: raw sockets, no HTTP library. Responds to each POST with an id, and to
 * each GET with an empty list. Prints its port.
 */

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';

let count = 0;

function respond(socket, method) {
  if (method === 'POST') count += 1;
  const text = JSON.stringify(method === 'POST' ? { file_attachment_id: `file_${count}` } : []);
  const status = method === 'POST' ? '201 Created' : '200 OK';
  socket.write(`HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`);
}

const server = createServer({ noDelay: true }, (socket) => {
  let head = '';
  let left = 0;
  let method = '';
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (left > 0) {
        const taken = Math.min(left, chunk.length - at);
        left -= taken;
        at += taken;
      } else {
        const known = head.length;
        head += chunk.toString('latin1', at);
        const end = head.indexOf('\r\n\r\n');
        if (end === -1) return;
        at += end + 4 - known;
        method = head.split(' ', 1)[0];
        left = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
        if (/\r\nexpect: 100-continue/i.test(head.slice(0, end))) socket.write(CONTINUE);
        head = '';
      }
      if (left === 0) respond(socket, method);
    }
  });
});
server.listen(0, '127.0.0.1', 511, () => process.stdout.write(`${server.address().port}\n`));
