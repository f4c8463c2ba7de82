import * as fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Every function that changes the disk. */
const FILE_CALLS = ['appendFile', 'datasync', 'sync', 'chmod', 'close'];
const PATH_CALLS = ['open', 'writeFile', 'rename', 'link', 'rm', 'mkdir', 'chmod', 'truncate'];

type AnyFunction = (this: unknown, ...args: unknown[]) => Promise<unknown>;

function killThisProcess(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}

function halfOf(data: unknown): unknown {
  return typeof data === 'string' || data instanceof Uint8Array ? data.slice(0, data.length / 2) : data;
}

/**
 * Makes this process kill itself at one of its calls to the file system.
 * @param point the number of the call, from 1, and the moment: `7 before`, `7 after`, or `7 half`, when half of the bytes of a
 * write are written
 */
export async function killAt(point: string): Promise<void> {
  const [number = '', moment = ''] = point.split(' ');
  let calls = 0;
  const wrap = (owner: object, name: string, dataIndex?: number): void => {
    const original: AnyFunction = Reflect.get(owner, name);
    const wrapped: AnyFunction = async function (...args) {
      calls += 1;
      if (calls !== Number(number)) return original.apply(this, args);
      if (moment === 'half' && dataIndex !== undefined) args[dataIndex] = halfOf(args[dataIndex]);
      // A call that fails, such as that for a directory that exists, is a point like any other.
      if (moment !== 'before') await original.apply(this, args).catch(() => undefined);
      return killThisProcess();
    };
    Reflect.set(owner, name, wrapped);
  };
  const file = await fs.promises.open(process.execPath);
  const prototype: object = Object.getPrototypeOf(file);
  await file.close();
  for (const name of FILE_CALLS) wrap(prototype, name, name === 'appendFile' ? 0 : undefined);
  for (const name of PATH_CALLS) wrap(fs.promises, name, name === 'writeFile' ? 1 : undefined);
  syncBuiltinESMExports();
}
