import { createServer } from 'node:http';

/**
 * Runs a service in this process for a measurement. It costs little, so that it does not hide the cost of the client.
 * @param respond returns the JSON text of the response to a request, whose body was read
 * @param measure gets the environment for commands
 */
export async function withService(respond, measure) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const text = respond(request);
      const length = Buffer.byteLength(text);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': length }).end(text);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address();
    return await measure({ PARTNER_BASE_URL: `http://127.0.0.1:${port}/v1`, PARTNER_TOKEN: 'bench' });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
