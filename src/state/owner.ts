import { hash } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { errorCode } from '../errors.ts';
import type { Owner } from './once-records.ts';

async function textOf(read: Promise<string>): Promise<string> {
  try {
    return await read;
  } catch {
    return '';
  }
}

/** Returns the state and start time of a process; empty if the process or /proc does not exist. */
async function readProcess(pid: number): Promise<{ readonly state?: string; readonly started?: string }> {
  const stat = await textOf(readFile(`/proc/${pid}/stat`, 'utf8'));
  // The process name, in parentheses, may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, started] = [fields[0], fields[19]];
  return state && started ? { state, started } : {};
}

/** Describes this process, so that others can check later whether it still runs. Hashes the name of the machine. */
export async function describeThisProcess(): Promise<Owner> {
  const boot = await textOf(readFile('/proc/sys/kernel/random/boot_id', 'utf8'));
  const processes = await textOf(readlink('/proc/self/ns/pid'));
  const machine = hash('sha256', JSON.stringify([hostname(), boot.trim(), processes]), 'hex').slice(0, 16);
  return { machine, pid: process.pid, started: (await readProcess(process.pid)).started ?? null };
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/**
 * Whether the process that made a reservation has ended.
 * @param self this process, if it is already described
 * @returns undefined if this machine cannot tell: the process ran on another machine, in another container, or before a
 *   reboot, or the system does not say when processes started
 */
export async function hasEnded(owner: Owner, self?: Owner): Promise<boolean | undefined> {
  const { machine, pid, started: startedHere } = self ?? (await describeThisProcess());
  if (owner.machine !== machine) return undefined;
  if (owner.pid === pid && owner.started !== null && owner.started === startedHere) return false;
  if (!processExists(owner.pid)) return true;
  const { state, started } = await readProcess(owner.pid);
  // A zombie has ended, although its pid is still in use.
  if (state === 'Z' || state === 'X') return true;
  // Without start times, another process may have taken over the id.
  if (owner.started === null || started === undefined) return undefined;
  return started !== owner.started;
}
