import { hash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from '../errors.ts';
import type { Owner } from './once-records.ts';

/** Reads from /proc, which is no disk: a thread would take ten times as long. @returns '' if it cannot be read */
function textOf(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

/** Returns the state and start time of a process; empty if the process or /proc does not exist. */
function readProcess(pid: number): { readonly state?: string; readonly started?: string } {
  const stat = textOf(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  // The process name, in parentheses, may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, started] = [fields[0], fields[19]];
  return state && started ? { state, started } : {};
}

/** Describes this process, so that others can check later whether it still runs. Hashes the name of the machine. */
export function describeThisProcess(): Owner {
  const boot = textOf(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));
  const processes = textOf(() => readlinkSync('/proc/self/ns/pid'));
  const machine = hash('sha256', JSON.stringify([hostname(), boot.trim(), processes]), 'hex').slice(0, 16);
  return { machine, pid: process.pid, started: readProcess(process.pid).started ?? null };
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
  const { machine, pid, started: startedHere } = self ?? describeThisProcess();
  if (owner.machine !== machine) return undefined;
  if (owner.pid === pid && owner.started !== null && owner.started === startedHere) return false;
  if (!processExists(owner.pid)) return true;
  const { state, started } = readProcess(owner.pid);
  // A zombie has ended, although its pid is still in use.
  if (state === 'Z' || state === 'X') return true;
  // Without start times, another process may have taken over the id.
  if (owner.started === null || started === undefined) return undefined;
  return started !== owner.started;
}
