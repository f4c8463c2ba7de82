import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';

/**
 * A name that one live process at a time can listen on and that vanishes with the process, so it is never stale.
 * Linux has abstract sockets for it, Windows named pipes; other systems have nothing of the kind.
 */
async function claimName(directory: string): Promise<string | undefined> {
  const { dev, ino } = await stat(directory);
  const name = `partnerctl-sandbox-${dev}-${ino}`;
  if (process.platform === 'linux') return `\0${name}`;
  if (process.platform === 'win32') return `\\\\.\\pipe\\${name}`;
  return undefined;
}

/**
 * Claims a data directory for this process for as long as it lives or until the claim is released.
 * @returns what releases the claim.
 * @throws Error when another live sandbox uses the directory. (On systems other than Linux and Windows this is not noticed.)
 */
export async function claim(directory: string): Promise<() => Promise<void>> {
  const name = await claimName(directory);
  if (name === undefined) return () => Promise.resolve();
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const message =
        cause.code === 'EADDRINUSE'
          ? `The data directory ${directory} is in use by another sandbox.`
          : `The data directory ${directory} cannot be claimed: ${cause.message}.`;
      reject(new Error(message, { cause }));
    });
    server.listen({ path: name, exclusive: true }, resolve);
  });
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
}
